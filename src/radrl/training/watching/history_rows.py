"""Rows of a training history, and what is asked of them: first that their numbers are numbers (no torch)."""

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


FINITE: Final = ("loss", "grad_norm", "kl")
"""What must be a number at every step that logs it."""


DIVERGED: Final = (
    "Lower training.learning_rate or training.gradient_clip, raise training.warmup_share, or set "
    "training.bf16 to false; the last checkpoint is from before"
)
"""What mends a training that ends in numbers that are none."""


class NotFinite(ArithmeticError):
    """Training produced a number that is none; the message names the step and the mend."""


def require_finite(row: Mapping[str, Any]) -> None:
    """Refuse a step whose loss, gradient or KL is no number.

    Args:
        row: as the trainer logs it; TRL writes nothing (None) in place of a NaN.

    Raises:
        NotFinite: naming the step, the number and the mend.
    """
    for name in FINITE:
        if name in row and (row[name] is None or not math.isfinite(row[name])):
            value = "nan" if row[name] is None else row[name]
            raise NotFinite(
                f"{name} is {value} at step {row['step']}: the weights are spoilt and are not written. "
                f"{DIVERGED}"
            )
