"""Numbers as pages and terminals write them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def p_value(p: float) -> str:
    """A p value with three decimals, and below the last of them as "< 0.001"; a dash for none."""
    if math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"


def spans(values: Sequence[float], form: str) -> str:
    """The ends of some numbers, or the one they all are.

    Args:
        values: at least one.
        form: how a number is written, such as ",.0f".

    Example:
        >>> spans([1.25, 3.5], ".1f"), spans([3840, 3840], ",.0f")
        ('1.2 to 3.5', '3,840')
    """
    return " to ".join(dict.fromkeys(format(end, form) for end in (min(values), max(values))))


def effect(difference: float, low: float, high: float) -> str:
    """Three decimals, each with its sign.

    Args:
        difference: of two rows.
        low: lower end of its interval.
        high: upper end.

    Returns:
        Such as "+0.044 (+0.035 to +0.054)".
    """
    return f"{difference:+.3f} ({low:+.3f} to {high:+.3f})"
