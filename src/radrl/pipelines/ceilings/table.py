"""What was read off the films as a table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from radrl.process.terminal import new_table, number


def show(summary: Mapping[str, Mapping[str, float]]) -> None:
    """Print each row's F1, films and parameters.

    Args:
        summary: of `radrl.pipelines.ceilings.nodes.read_labels`; nothing is printed of an empty one.
    """
    if not summary:
        return
    columns = list(next(iter(summary.values())))
    table = new_table("labels read off films", *columns)
    for row, values in summary.items():
        table.add_row(row, *(number(values[column]) for column in columns))
    console = Console()
    console.print()
    console.print(table)
