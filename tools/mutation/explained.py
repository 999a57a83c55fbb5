"""Mutants that no test need notice, each with its reason: `explained.csv`."""

from __future__ import annotations

import csv
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

KINDS: Final = {
    "equivalent": "no input tells it from the original; it is not counted",
    "accepted": "it can be told, but a test of it would not be worth having; it counts as survived",
}


class ExplainedError(ValueError):
    """An entry that explains nothing."""


@dataclass(frozen=True)
class Reason:
    """Why a mutant may survive."""

    kind: str
    reason: str


def read(file: Path, names: Collection[str], rooms: Collection[str]) -> dict[str, Reason]:
    """Read the explained mutants.

    Args:
        file: with the columns module, scope, change, kind and reason.
        names: of all mutants that there are.
        rooms: folders of the rooms that these are of; entries of others are passed over.

    Raises:
        ExplainedError: naming the line that has an unknown kind, no reason, or explains no mutant.
    """
    found: dict[str, Reason] = {}
    if not file.exists():
        return found
    with file.open(encoding="utf-8", newline="") as rows:
        for number, row in enumerate(csv.DictReader(rows), start=2):
            if not any(row["module"].startswith(f"{folder}/") for folder in rooms):
                continue
            name = f"{row['module']}::{row['scope']}::{row['change']}"
            if row["kind"] not in KINDS or not row["reason"]:
                raise ExplainedError(
                    f"{file}, entry {number}: give it one of {', '.join(KINDS)} and a reason"
                )
            if name not in names:
                raise ExplainedError(
                    f"{file}, entry {number}: there is no mutant {name}; take it out or mend it"
                )
            found[name] = Reason(row["kind"], row["reason"])
    return found
