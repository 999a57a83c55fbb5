"""A difference with its interval, as pages and pictures write it."""

from __future__ import annotations


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
