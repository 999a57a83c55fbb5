"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table.

    Args:
        header: of C columns.
        rows: C cells each.

    Returns:
        Its lines.
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def p_value(p: float) -> str:
    """A p value in words: with three decimals, and below the last of them as "< 0.001"."""
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"
