"""The source that params.yaml names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from radrl.data.quarantine import Refusal
from radrl.data.sources.base import Source
from radrl.data.study import Record
from radrl.data.tables import SourceError
from radrl.parts.find import find


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
