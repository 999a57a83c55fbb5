"""The comparison as a table on the terminal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from radrl.pages.caveats import NOT_OURS, OVER_PATIENTS
from radrl.pipelines.compare import seeds
from radrl.pipelines.compare.few import too_few
from radrl.pipelines.compare.histories import HistoryRead
from radrl.pipelines.compare.systems import KIND, titled

HIGHER, LOWER, BEATEN = "▲", "▼", "†"
CELL = len("10.000▲†")
"""Characters of a value with its marks."""

STYLES = {"arm": "", "system": "magenta", "trivial": "dim", "reader": "cyan", "ceiling": "dim italic"}


def show(comparison: pd.DataFrame, groups: Mapping[str, Sequence[str]], settings: Mapping[str, Any]) -> None:
    """Print the rows with their values and marks; intervals are in the CSV and on the page.

    Args:
        comparison: a line a row and metric.
        groups: the metrics by who gives them; a table each, or several where the terminal is narrow.
        settings: the section `compare`.
    """
    console = Console()
    alpha = 1 - settings["bootstrap"]["confidence"]
    for group, metrics in groups.items():
        for part in _fitting(group, metrics, console.width - titled(comparison).str.len().max()):
            console.print()
            console.print(_table(comparison, group, part, settings["reference"], alpha))
    if few := too_few(comparison):
        console.print(f"\n{few}", highlight=False)
    console.print(
        f"\n{HIGHER} {LOWER} differs from {settings['reference']} (Holm's p under {alpha:.2g})\n"
        f"{BEATEN}   a row that needs no model scores higher"
    )
    if readers := comparison.loc[comparison["kind"] == "reader", "arm"].unique().tolist():
        console.print(f"{', '.join(readers)}: no text, but labels read off the films; so much is in them")
    for line in comparison[comparison["kind"] == KIND].drop_duplicates("arm").to_dict("records"):
        said = f"{line['arm']}{NOT_OURS}: {line['source']}, tested against nothing"
        console.print(Text(f"{said}; {line['differs']}" if pd.notna(line["differs"]) else said))


def show_seeds(lines: Sequence[Mapping[Hashable, Any]], metric: str, reference: str) -> None:
    """Print what one seed cannot say, and what several gave.

    Args:
        lines: of `radrl.pipelines.compare.seeds.of_shipped`.
        metric: that they are of.
        reference: the arm the others are tested against.
    """
    console = Console(highlight=False)
    console.print(f"\n{OVER_PATIENTS}")
    if lines:
        console.print(f"What {lines[0]['seeds']} seeds of the shipped parameters gave, {metric}:")
    for line in lines:
        if line["kind"] == "arm":
            console.print(f"  {line['arm']:18s} {seeds.said(line, reference)}", soft_wrap=True)


def show_histories(told: Mapping[str, HistoryRead]) -> None:
    """Print what the histories of the arms say: how each ended in a line, and a finding a paragraph.

    Args:
        told: by arm that trained.
    """
    console = Console(highlight=False)
    if told:
        console.print()
    for arm, own in told.items():
        console.print(Text.assemble((arm, "bold"), f": {own.levelling}"), soft_wrap=True)
    for arm, own in told.items():
        for finding in own.findings:
            console.print()
            console.print(Text.assemble((arm, "bold"), f": {finding}"))


def short(metric: str, group: str) -> str:
    """A metric's name within its group.

    Args:
        metric: its full name.
        group: what the names of the group's metrics begin with.

    Returns:
        The rest of the name; the full name where there is no rest.
    """
    return metric.removeprefix(f"{group}_")


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


def _heading(metric: str, group: str) -> str:
    # one part of the name a line: the columns stay narrow and the name whole
    return short(metric, group).replace("_", "\n")


def _fitting(group: str, metrics: Sequence[str], width: int) -> list[list[str]]:
    """The metrics, cut where a table would be wider than the terminal."""
    parts: list[list[str]] = [[]]
    left = width
    for metric in metrics:
        column = 1 + max(CELL, *map(len, _heading(metric, group).split("\n")))
        if parts[-1] and column > left:
            parts.append([])
            left = width
        parts[-1].append(metric)
        left -= column
    return parts


def _table(
    comparison: pd.DataFrame, group: str, metrics: Sequence[str], reference: str, alpha: float
) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(group, no_wrap=True)
    for metric in metrics:
        table.add_column(_heading(metric, group), justify="right", no_wrap=True)
    shown = comparison[comparison["metric"].isin(metrics)]
    for name, lines in shown.groupby("arm", sort=False):
        by_metric = {line["metric"]: line for line in lines.to_dict("records")}
        style = "bold" if name == reference else STYLES[lines["kind"].iloc[0]]
        table.add_row(
            titled(lines).iloc[0], *(_cell(by_metric.get(metric), alpha) for metric in metrics), style=style
        )
    return table


def _cell(line: Mapping[Hashable, Any] | None, alpha: float) -> str:
    return f"{line['value']:.3f}{mark(line, alpha):<2}" if line else "-  "
