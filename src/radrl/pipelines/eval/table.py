"""Scores as tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table


def show_arm(scores: Mapping[str, Any], headline: Mapping[str, float], per_label: pd.DataFrame) -> None:
    """Print one arm's headline figures and its scores per label.

    Args:
        scores: counts and metrics by name.
        headline: the figures to show.
        per_label: observation, reading, precision, recall, f1, support, predicted.
    """
    console = Console()
    console.print()
    console.print(_counts(scores), style="bold")
    table = _table("metric", "value")
    for name, value in headline.items():
        table.add_row(name, _number(value))
    console.print(table)
    for name, reason in scores["skipped"].items():
        console.print(f"{name}: {reason}", style="dim")
    console.print(_labels(per_label))


def show_arms(headlines: Mapping[str, Mapping[str, float]]) -> None:
    """Print the arms side by side: a row a metric, a column an arm.

    Args:
        headlines: by arm, its headline figures.
    """
    table = _table("metric", *headlines)
    for name in dict.fromkeys(name for one in headlines.values() for name in one):
        table.add_row(name, *(_number(one[name]) if name in one else "-" for one in headlines.values()))
    console = Console()
    console.print()
    console.print(table)


def _counts(scores: Mapping[str, Any]) -> str:
    return (
        f"{scores['reports']} reports of {scores['patients']} patients; "
        f"{scores['words_mean']:.1f} words a report, {scores['reference_words_mean']:.1f} a reference; "
        f"{scores['empty_share']:.0%} empty, {scores['distinct_share']:.0%} distinct"
    )


def _labels(per_label: pd.DataFrame) -> Table:
    """The first labeler's stricter reading; the others are in the CSV."""
    table = _table("observation", "P", "R", "F1", "present", "predicted")
    shown = per_label[per_label["labeler"] == per_label["labeler"].iloc[0]]
    for row in shown[shown["reading"] == "positive"].to_dict("records"):
        scores = [_number(row[name]) for name in ("precision", "recall", "f1")]
        counts = [str(row[name]) for name in ("support", "predicted")]
        table.add_row(row["observation"], *scores, *counts, style="" if row["support"] else "dim")
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"
