"""Tables in Markdown, numbers as pages and terminals write them, and pages that keep a table up to date."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from radrl.storage.whole_files import whole_file


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


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown.

    Args:
        header: of C columns.
        rows: C cells each.

    Returns:
        Its lines.
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


class Marks(NamedTuple):
    """Where a page has a command's table.

    Args:
        begin: the line before it.
        end: the line behind it.
    """

    begin: str
    end: str

    @classmethod
    def of_command(cls, command: str) -> Marks:
        """The marks of a command, by its name."""
        return cls(*(f"<!-- radrl {command}: {end} -->" for end in ("begin", "end")))

    def write(self, table: str, into: Path) -> None:
        """Put a table in its place.

        Args:
            table: what goes between the marks.
            into: the page.

        Raises:
            click.ClickException: when the page lacks the marks.
        """
        before, begin, rest = into.read_text(encoding="utf-8").partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not (begin and end):
            raise click.ClickException(
                f"{into} has no place for the table: write {self.begin} and {self.end} into it"
            )
        with whole_file(into) as stream:
            stream.write(f"{before}{self.begin}\n\n{table}\n\n{self.end}{after}".encode())
