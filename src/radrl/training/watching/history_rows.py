"""Rows of a training history, what rules ask of them, and what a rule sees in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from radrl.training.watching.mends import Mend

Row = Mapping[str, Any]

WINDOW: Final = 10
"""Steps that a mean is taken over: a step's numbers rest on few prompts and swing."""


def at(row: Row, name: str) -> float | None:
    """A row's number, or nothing where it has a gap or an infinity."""
    value = row.get(name)
    return float(value) if value is not None and math.isfinite(value) else None


def is_gap(value: Any) -> bool:
    """Whether a value stands for a number that was not logged."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def series(rows: Sequence[Row], name: str) -> list[float]:
    """The numbers that some rows have of a name, gaps left out."""
    return [value for row in rows if (value := at(row, name)) is not None]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value."""
    return math.fsum(values) / len(values)


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
