"""Tables in Markdown, and pages in which one is kept up to date between marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from radrl.storage.whole_files import whole_file


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
