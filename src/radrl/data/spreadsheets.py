"""Texts that a spreadsheet would run as formulas: a quote before them in CSV and TSV keeps them texts.

A program that opens a table by double click runs what begins like a formula, and one can start programs
(``=cmd|'/C calc'!A0``) or send cells away. Reports, ids and names of files come from elsewhere. `quoted`
writes them, `unquoted` reads them again as they were; JSON lines and Parquet run nothing and need neither.
"""

from __future__ import annotations

from typing import Final

FIRST: Final = frozenset("=@+-' \t\r\n")
"""What a text begins with that may have a quote before it: cheaper to look at than the whole."""

_ALWAYS: Final = ("=", "@")
_SIGNS: Final = ("+", "-")
_CALLS: Final = frozenset("(|!")


def quoted(text: str) -> str:
    """A text as a cell of CSV.

    Example:
        >>> quoted("=1+1"), quoted("-1.5"), quoted("- No effusion."), quoted("-2+cmd|' /C calc'!A0")
        ("'=1+1", '-1.5', '- No effusion.', "'-2+cmd|' /C calc'!A0")
    """
    return f"'{text}" if _runs(text.lstrip("'")) else text


def unquoted(cell: str) -> str:
    """The text that `quoted` has written.

    Example:
        >>> unquoted("'=1+1"), unquoted("''=1+1"), unquoted("'tis clear")
        ('=1+1', "'=1+1", "'tis clear")
    """
    return cell[1:] if cell.startswith("'") and _runs(cell.lstrip("'")) else cell


def _runs(text: str) -> bool:
    """Whether a spreadsheet would do more than sums: a sign before a number or a list's item does none."""
    begun = text.lstrip(" \t\r\n")  # some programs take blanks away before they look
    return begun.startswith(_ALWAYS) or (begun.startswith(_SIGNS) and not _CALLS.isdisjoint(begun))
