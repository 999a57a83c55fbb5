"""What a rule sees in the rows of a history, before it is known whose they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from radrl.training.watching.history_rows import Row
from radrl.training.watching.mends import Mend

Severity = Literal["stop", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""``stop``: nothing is learnt, end the run; ``warning``: act; ``note``: have a look."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that a history shows.

    Args:
        name: of the rule.
        severity: one of `SEVERITIES`.
        rows: where it holds, at least one.
        says: a sentence with the numbers.
        mend: what can be done about it.
    """

    name: str
    severity: Severity
    rows: Sequence[Row]
    says: str
    mend: Mend


Rule = Callable[[Sequence[Row]], Symptom | None]
"""Reads a history in the order of its steps."""
