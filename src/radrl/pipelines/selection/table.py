"""What the subsets hold, label by label, as a table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from radrl.observations import OBSERVATIONS
from radrl.terminal import new_table, number


def show(summary: Mapping[str, Any]) -> None:
    """Print the studies of each subset by label, and how even the balanced one is.

    Args:
        summary: of `radrl.pipelines.selection.nodes.make_subsets`.
    """
    subsets = {name: row for name, row in summary.items() if name != "balance"}
    table = new_table("studies that are positive for", *subsets)
    for name in OBSERVATIONS:
        table.add_row(name, *(number(row[name]) for row in subsets.values()))
    table.add_row("labels a study", *(number(_density(row)) for row in subsets.values()), style="dim")
    for name in ("studies", "samples"):
        table.add_row(name, *(number(row[name]) for row in subsets.values()), style="bold")
    console = Console()
    console.print()
    console.print(table)
    console.print(_words(summary["balance"]))


def _density(row: Mapping[str, int]) -> float:
    return sum(row[name] for name in OBSERVATIONS) / row["studies"]


def _words(balance: Mapping[str, Any]) -> str:
    verdict = "proven best" if balance["proven"] else "not proven best, the search ran out of nodes"
    return (
        f"balanced, {verdict}:\n"
        f"  each label in {balance['level']} studies or all there are; asked for {balance['goal']}, "
        f"bound {balance['level_bound']}\n"
        f"  no label in more than {balance['peak']}; bound {balance['peak_bound']}\n"
        f"  {balance['positives']} positives in all; bound {balance['positives_bound']}"
    )
