"""Scores as tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from radrl.evaluation.clinical_efficacy import GOLD
from radrl.process.terminal import new_table, number


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
    table = new_table("metric", "value")
    for name, value in headline.items():
        table.add_row(name, number(value))
    console.print(table)
    for name, reason in scores["skipped"].items():
        console.print(f"{name}: {reason}", style="dim")
    console.print(_labels(per_label))
    if "gold_reports" in scores:
        console.print(
            f"against gold labels, {scores['gold_reports']} reports of {scores['gold_patients']} patients",
            style="bold",
        )
        console.print(_gold(scores))


def show_arms(headlines: Mapping[str, Mapping[str, float]]) -> None:
    """Print the arms side by side: a row a metric, a column an arm.

    Args:
        headlines: by arm, its headline figures.
    """
    table = new_table("metric", *headlines)
    for name in dict.fromkeys(name for one in headlines.values() for name in one):
        table.add_row(name, *(number(one.get(name)) for one in headlines.values()))
    console = Console()
    console.print()
    console.print(table)


def _counts(scores: Mapping[str, Any]) -> str:
    return (
        f"{scores['reports']} reports of {scores['patients']} patients; "
        f"{scores['words_mean']:.1f} words a report, {scores['reference_words_mean']:.1f} a reference; "
        f"{scores['empty_share']:.0%} empty, {scores['distinct_share']:.0%} distinct"
    )


def _gold(scores: Mapping[str, Any]) -> Table:
    """The usual averagings over 14 labels, by labeler."""
    table = new_table("ce", "P", "R", "F1")
    for name in scores:
        if name.endswith(tuple(f"{GOLD}_{averaging}14_f1" for averaging in ("sample", "micro", "macro"))):
            stem = name.removesuffix("_f1")
            values = (scores[f"{stem}_{statistic}"] for statistic in ("precision", "recall", "f1"))
            table.add_row(stem.removeprefix("ce_"), *map(number, values))
    return table


def _labels(per_label: pd.DataFrame) -> Table:
    """The first labeler's stricter reading; the others are in the CSV."""
    table = new_table("observation", "P", "R", "F1", "present", "predicted")
    shown = per_label[per_label["labeler"] == per_label["labeler"].iloc[0]]
    for row in shown[shown["reading"] == "positive"].to_dict("records"):
        scores = [number(row[name]) for name in ("precision", "recall", "f1")]
        counts = [str(row[name]) for name in ("support", "predicted")]
        table.add_row(row["observation"], *scores, *counts, style="" if row["support"] else "dim")
    return table
