"""Tables on the terminal: a column of names, then columns of numbers."""

from __future__ import annotations

import math

from rich.table import Table


def new_table(first: str, *others: str) -> Table:
    """A table without lines, to be filled row by row.

    Args:
        first: head of the column of names.
        others: heads of the columns of numbers.

    Returns:
        The table, without rows.
    """
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    made.add_column(first, no_wrap=True)
    for name in others:
        made.add_column(name, justify="right")  # a head may fold, so that no number is cut
    return made


def number(value: float | None) -> str:
    """A number as a cell: a count as it is, another to three places, a dash where there is none or NaN.

    Example:
        >>> number(12), number(0.5), number(None)
        ('12', '0.500', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"
