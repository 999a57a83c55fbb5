"""Where studies come from: what every source gives, and the one that params.yaml names, opened.

A source reads and never judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radrl.data.tables import SourceError
from radrl.parts.find import find

if TYPE_CHECKING:
    from radrl.data.quarantine import Refusal
    from radrl.data.study import Record


@dataclass(frozen=True, slots=True)
class Source:
    """A source that was opened.

    Args:
        records: a record a film, those of one study one after the other, or the refusal of what cannot be
            read; the same ones in the same order each time the source is opened.
        films: how many records there will be, for the progress bar; nothing where only reading would tell.
        root: the folder that the films' paths may not leave; nothing for a source that draws.
    """

    records: Iterator[Record | Refusal]
    films: int | None = None
    root: Path | None = None


def is_drawn(settings: Mapping[str, Any]) -> bool:
    """Whether a source's films are phantoms, so that no number found on them says anything about patients.

    Args:
        settings: the section `ingest` of params.yaml; a source of real reports may have films drawn to them.
    """
    name = settings["source"]
    own = settings.get(name) or {}
    said = getattr(find("source", name, own).object, "drawn", False)
    return bool(said(own) if callable(said) else said)


def path_or_none(value: str | None) -> Path | None:
    """A path of params.yaml, which may be null."""
    return None if value is None else Path(value)


def open_source(settings: Mapping[str, Any], *, seed: int) -> Source:
    """Open a source.

    Args:
        settings: the section `ingest` of params.yaml.
        seed: of sources that draw.

    Returns:
        The source.

    Raises:
        SourceError: its files are not as expected; the message names them and the section to mend.
        radrl.parts.find.PartError: for a source that cannot be had.
    """
    name = settings["source"]
    own = settings.get(name) or {}
    part = find("source", name, own)
    with _mending(name):
        found = part.make(own, seed=seed, image_size=settings.get("image_size"))
    source = found if isinstance(found, Source) else Source(iter(found))
    return replace(source, records=_read(source.records, name))


def _read(records: Iterator[Record | Refusal], name: str) -> Iterator[Record | Refusal]:
    """The records; damage may show on the way only."""
    with _mending(name):
        yield from records


@contextmanager
def _mending(name: str) -> Iterator[None]:
    """Say of what is wrong with a source where params.yaml names its files."""
    try:
        yield
    except SourceError as error:
        raise SourceError(f"{error}\nMend ingest.{name} in params.yaml, or the file.") from None
