"""Findings of two reports, matched and weighed by what they mean for the patient; here, what a finding is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

Side = Literal["left", "right"]
Change = Literal["new", "increased", "decreased", "unchanged", "resolved"]
Certainty = Literal["certain", "hedged"]

SEVERITIES: Final = ("trace", "small", "moderate", "large")
"""Words of severity and extent, by rank from 0; mild counts as small, severe and extensive as large."""


@dataclass(slots=True, unsafe_hash=True)
class Finding:
    """One finding of one report; nothing changes it once it is made.

    It is not frozen, since a frozen one takes five times as long to make, and a report has ten.

    Args:
        concept: a name of the table `concepts.csv`, such as ``pleural_effusion`` or ``endotracheal_tube``.
        present: false where the report denies it.
        certainty: ``hedged`` where the report says that it is possible, likely, or cannot be excluded.
        sides: none where nothing is said; both for what is bilateral.
        regions: lobes, zones and other places by their names in `regions.csv`, such as ``lower_lobe``.
        severity: rank in `SEVERITIES`; None where nothing is said.
        size_mm: the largest measurement of it, in millimetres; None where there is none.
        change: against an earlier film; None where nothing is said.
        tip: of a line or tube, where it ends, by its name in `regions.csv`; None where nothing is said.
        tip_mm: its distance from that place, such as the carina, in millimetres; None where nothing is said.
        span: start and end in the report's characters of the words that it was read from.
    """

    concept: str
    present: bool = True
    certainty: Certainty = "certain"
    sides: frozenset[Side] = frozenset()
    regions: frozenset[str] = frozenset()
    severity: int | None = None
    size_mm: float | None = None
    change: Change | None = None
    tip: str | None = None
    tip_mm: float | None = None
    span: tuple[int, int] = field(default=(0, 0), compare=False)
