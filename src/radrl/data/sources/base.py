"""What every source gives: its records, and how many there will be where that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from radrl.data.quarantine import Refusal
from radrl.data.study import Record


@dataclass(frozen=True, slots=True)
class Source:
    """A source that was opened.

    Args:
        records: a record a film, those of one study one after the other, or the refusal of what cannot be
            read; the same ones in the same order each time the source is opened.
        films: how many records there will be, for the progress bar; nothing where only reading would tell.
    """

    records: Iterator[Record | Refusal]
    films: int | None = None


def drawn(settings: Mapping[str, Any]) -> bool:
    """Whether a source's films are phantoms, so that no number found on them says anything about patients.

    Args:
        settings: the section `ingest` of params.yaml; a source of real reports may have films drawn to them.
    """
    name = settings["source"]
    return bool(name == "phantom" or settings[name].get("images") == "phantom")
