"""Numbers that are none: a training ends at the first, and its history is searched for them (no torch)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

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
