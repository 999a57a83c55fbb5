"""The comparison as a table on the terminal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

HIGHER, LOWER, BEATEN = "▲", "▼", "†"
COLUMN = 11
"""Characters a column may take: `uncertain`, the longest part of a metric's name, and the gap."""

STYLES = {"arm": "", "trivial": "dim", "ceiling": "dim italic"}


def show(comparison: pd.DataFrame, settings: Mapping[str, Any]) -> None:
    """Print the rows with their values and marks; intervals are in the CSV and on the page.

    Args:
        comparison: a line a row and metric.
        settings: the section `compare`.
    """
    console = Console()
    alpha = 1 - settings["bootstrap"]["confidence"]
    names = comparison["arm"].str.len().max()
    fitting = max(1, (console.width - names) // COLUMN)
    for start in range(0, len(settings["metrics"]), fitting):
        console.print()
        console.print(
            _table(comparison, settings["metrics"][start : start + fitting], settings["reference"], alpha)
        )
    console.print(
        f"{HIGHER} {LOWER} differs from {settings['reference']} (Holm's p under {alpha:.2g})\n"
        f"{BEATEN}   a row that reads no film scores higher"
    )


def mark(line: Mapping[Hashable, Any], alpha: float) -> str:
    """The marks behind a value.

    Args:
        line: one line of the comparison.
        alpha: level below which a difference is marked.

    Returns:
        Up to two marks.
    """
    marks = ""
    if pd.notna(line["p_holm"]) and line["p_holm"] < alpha:
        marks += HIGHER if line["difference"] > 0 else LOWER
    if line["kind"] == "arm" and isinstance(line["beaten_by"], str):
        marks += BEATEN
    return marks


def _table(comparison: pd.DataFrame, metrics: Sequence[str], reference: str, alpha: float) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("row", no_wrap=True)
    for metric in metrics:
        # one part of the name a line: the columns stay narrow and the name whole
        table.add_column(metric.replace("_", "\n"), justify="right", no_wrap=True)
    for name, lines in comparison.groupby("arm", sort=False):
        by_metric = {line["metric"]: line for line in lines.to_dict("records")}
        style = "bold" if name == reference else STYLES[lines["kind"].iloc[0]]
        table.add_row(str(name), *(_cell(by_metric.get(metric), alpha) for metric in metrics), style=style)
    return table


def _cell(line: Mapping[Hashable, Any] | None, alpha: float) -> str:
    return f"{line['value']:.3f}{mark(line, alpha):<2}" if line else "-  "
