"""Numbers as pages and terminals write them."""

from __future__ import annotations

import math


def p_value(p: float) -> str:
    """A p value with three decimals, and below the last of them as "< 0.001"; a dash for none."""
    if math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"
