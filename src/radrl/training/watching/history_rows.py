"""Rows of a training history, and what rules ask of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

Row = Mapping[str, Any]

WINDOW: Final = 10
"""Steps that a mean is taken over: a step's numbers rest on few prompts and swing."""


def value_at(row: Row, name: str) -> float | None:
    """A row's number, or nothing where it has a gap or an infinity."""
    value = row.get(name)
    return float(value) if value is not None and math.isfinite(value) else None


def is_gap(value: Any) -> bool:
    """Whether a value stands for a number that was not logged."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def series(rows: Sequence[Row], name: str) -> list[float]:
    """The numbers that some rows have of a name, gaps left out."""
    return [value for row in rows if (value := value_at(row, name)) is not None]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value."""
    return math.fsum(values) / len(values)
