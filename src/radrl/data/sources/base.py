"""What every source gives: its records, and how many there will be where that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def drawn(settings: Mapping[str, Any]) -> bool:
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
