"""The comparison as tables: on the terminal, as rows of cells on the page, and all rows in one ranking."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from radrl.evaluation.clinical_efficacy import GOLD
from radrl.pages.page import NOT_OURS, OVER_PATIENTS
from radrl.pipelines.compare.inputs import Diagnosis
from radrl.pipelines.compare.rows import CEILING, SYSTEM, TRIVIAL, System, row_titles
from radrl.pipelines.compare.summary import over_seeds_in_words, too_few_patients
from radrl.readers import READERS

HIGHER, LOWER, BEATEN = "▲", "▼", "†"
CELL = len("10.000▲†")
"""Characters of a value with its marks."""

STYLES = {"arm": "", "system": "magenta", "trivial": "dim", "reader": "cyan", "ceiling": "dim italic"}


def print_comparison(
    comparison: pd.DataFrame, groups: Mapping[str, Sequence[str]], settings: Mapping[str, Any]
) -> None:
    """Print the rows with their values and marks; intervals are in the CSV and on the page.

    Args:
        comparison: a line a row and metric.
        groups: the metrics by who gives them; a table each, or several where the terminal is narrow.
        settings: the section `compare`.
    """
    console = Console()
    alpha = 1 - settings["bootstrap"]["confidence"]
    for group, metrics in groups.items():
        for part in _fitting(group, metrics, console.width - row_titles(comparison).str.len().max()):
            console.print()
            console.print(_table(comparison, group, part, settings["reference"], alpha))
    if few := too_few_patients(comparison):
        console.print(f"\n{few}", highlight=False)
    console.print(
        f"\n{HIGHER} {LOWER} differs from {settings['reference']} (Holm's p under {alpha:.2g})\n"
        f"{BEATEN}   a row that needs no model scores higher"
    )
    if readers := comparison.loc[comparison["kind"] == "reader", "arm"].unique().tolist():
        console.print(f"{', '.join(readers)}: no text, but labels read off the films; so much is in them")
    for line in comparison[comparison["kind"] == SYSTEM].drop_duplicates("arm").to_dict("records"):
        said = f"{line['arm']}{NOT_OURS}: {line['source']}, tested against nothing"
        console.print(Text(f"{said}; {line['differs']}" if pd.notna(line["differs"]) else said))


def print_over_seeds(lines: Sequence[Mapping[Hashable, Any]], metric: str, reference: str) -> None:
    """Print what one seed cannot say, and what several gave.

    Args:
        lines: of `radrl.pipelines.compare.summary.shipped_over_seeds`.
        metric: that they are of.
        reference: the arm the others are tested against.
    """
    console = Console(highlight=False)
    console.print(f"\n{OVER_PATIENTS}")
    if lines:
        console.print(f"What {lines[0]['seeds']} seeds of the shipped parameters gave, {metric}:")
    for line in lines:
        if line["kind"] == "arm":
            console.print(f"  {line['arm']:18s} {over_seeds_in_words(line, reference)}", soft_wrap=True)


def print_diagnoses(told: Mapping[str, Diagnosis]) -> None:
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


def name_within_group(metric: str, group: str) -> str:
    """A metric's name within its group.

    Args:
        metric: its full name.
        group: what the names of the group's metrics begin with.

    Returns:
        The rest of the name; the full name where there is no rest.
    """
    return metric.removeprefix(f"{group}_")


def significance_marks(line: Mapping[Hashable, Any], alpha: float) -> str:
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
    return name_within_group(metric, group).replace("_", "\n")


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
            row_titles(lines).iloc[0],
            *(_cell(by_metric.get(metric), alpha) for metric in metrics),
            style=style,
        )
    return table


def _cell(line: Mapping[Hashable, Any] | None, alpha: float) -> str:
    return f"{line['value']:.3f}{significance_marks(line, alpha):<2}" if line else "-  "


FAMILIES: Final = {
    "ce": "Clinical efficacy: agreement of labels, read by the labeler",
    "ce_gold": "Clinical efficacy against gold labels, the generated reports read by the labeler",
    "nlg": "Overlap of words",
    "nlg_meteor": "Overlap of words, their stems and synonyms (METEOR)",
    "radgraph_rules": "Agreement of entities and relations, found by rules in RadGraph's place",
    "green_rules": "Errors counted by rules in GREEN's place",
    "weighted_findings": "Findings matched and weighed by what they mean, read by rules",
    "radgraph": "Agreement of entities and relations, found by RadGraph",
    "green": "Errors counted by GREEN's judge",
    "radeval": "RadEval's metrics",
}
"""What a family of metrics says, by its name."""


def page_rows(
    comparison: pd.DataFrame,
    arms: Mapping[str, Any],
    systems: Mapping[str, System],
    settings: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The rows of the tables.

    Args:
        comparison: a line a row and metric.
        arms: the section `arms`.
        systems: of `radrl.pipelines.compare.rows.read_systems`.
        settings: the section `compare`.

    Returns:
        Of each row name, kind, what it is, and a cell a metric with its interval's place on its scale.
    """
    alpha = 1 - settings["bootstrap"]["confidence"]
    inner = comparison[comparison["arm"] != CEILING].groupby("metric")
    low, width = inner["low"].min(), inner["high"].max() - inner["low"].min()
    rows = []
    for name, lines in comparison.groupby("arm", sort=False):
        cells: dict[str, Any] = {}
        for line in lines.to_dict("records"):
            metric, span = line["metric"], width[line["metric"]] or 1.0
            place = [100 * (line[at] - low[metric]) / span for at in ("low", "value", "high")]
            drawn = name != CEILING and np.isfinite(place).all()
            cells[metric] = line | {
                "mark": significance_marks(line, alpha),
                "bar": [round(at, 1) for at in place] if drawn else None,
                "tested": pd.notna(line["difference"]),
                "beaten_by": line["beaten_by"] if isinstance(line["beaten_by"], str) else "",
            }
        kind = lines["kind"].iloc[0]
        what = systems[str(name)].origin if kind == SYSTEM else describe_row(str(name), arms)
        rows.append({"name": name, "kind": kind, "what": what, "cells": cells})
    return rows


def group_title(group: str) -> str:
    """What a group of metrics says.

    Args:
        group: what their names begin with.
    """
    if not group.startswith("ce_"):
        return FAMILIES.get(group, group)
    labeler = group.removeprefix("ce_")
    family = "ce_gold" if labeler.endswith(GOLD) else "ce"
    return f"{FAMILIES[family]} {labeler.removesuffix(GOLD).replace('_', ' ')}"


def describe_row(name: str, arms: Mapping[str, Any]) -> str:
    """What a row is, in a few words.

    Args:
        name: of an arm, of a row beside them, or of the ceiling.
        arms: the section `arms`.
    """
    if name == CEILING:
        return "the references against themselves, or gold labels; under 1 where 0 / 0 counts as 0"
    if name in TRIVIAL | READERS:
        return (TRIVIAL | READERS)[name]
    arm = arms[name]
    if not arm.get("reward"):
        return f"the {arm['start']} policy as it is"
    reward = " + ".join(part for part, value in arm["reward"].items() if value)
    parts = [f"{arm['start']} → reward {reward}", f"{arm.get('selection', 'full')} selection"]
    credit = arm.get("credit", "none")
    if credit != "none":
        parts.append(f"{next(iter(credit)) if isinstance(credit, dict) else credit} credit")
    if arm.get("oracle", "none") != "none":
        parts.append("OraPO's oracle")
    return ", ".join(parts)


MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class Place:
    """One row of the plot.

    Args:
        line: of the comparison, of the metric that is drawn.
        over_seeds: what several seeds gave of the row; nothing where nobody trained it again.
        mark: whether these films decide that it is higher or lower than the reference arm.
    """

    line: Mapping[Hashable, Any]
    over_seeds: Mapping[Hashable, Any] | None
    mark: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The plot.

    Args:
        metric: that is drawn.
        seeds: how many gave the spread; 0 for none.
        low: where the scale begins.
        high: where it ends.
        ticks: numbers on it, with the decimals they need.
        places: the rows, the highest first.
    """

    metric: str
    seeds: int
    low: float
    high: float
    ticks: Sequence[str]
    places: Sequence[Place]

    def position(self, value: float) -> float:
        """Where on the scale a value stands, in per cent of its length."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)


def rank_rows(
    comparison: pd.DataFrame, over_seeds: Sequence[Mapping[Hashable, Any]], settings: Mapping[str, Any]
) -> Ranking:
    """Sort every row by the first metric.

    Args:
        comparison: a line a row and metric.
        over_seeds: of `radrl.pipelines.compare.summary.shipped_over_seeds`.
        settings: the section `compare`.

    Returns:
        The plot of all rows that have the metric, those that need no model and the ceiling among them.
    """
    metric, alpha = settings["metrics"][0], 1 - settings["bootstrap"]["confidence"]
    lines = comparison[comparison["metric"] == metric].sort_values("value", ascending=False, kind="stable")
    known = {line["arm"]: line for line in over_seeds}
    places = [Place(line, known.get(line["arm"]), _mark(line, alpha)) for line in lines.to_dict("records")]
    ends = [float(value) for name in ("low", "high", "value") for value in lines[name].dropna()]
    ends += [one["mean"] + side * one["sd"] for one in known.values() for side in (-1, 1)]
    ticks = _ticks(min(ends), max(ends))
    decimals = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
    seeds = next((int(one["seeds"]) for one in known.values()), 0)
    return Ranking(metric, seeds, ticks[0], ticks[-1], [f"{tick:.{decimals}f}" for tick in ticks], places)


def _mark(line: Mapping[Hashable, Any], alpha: float) -> str:
    """Of arms alone: what is no arm is tested against nothing here."""
    if line["kind"] != "arm" or pd.isna(line["p_holm"]) or line["p_holm"] >= alpha:
        return ""
    return HIGHER if line["difference"] > 0 else LOWER


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers around an interval, `MOST_TICKS` at most."""
    span = max(high - low, 1e-3)
    power = 10.0 ** math.floor(math.log10(span / MOST_TICKS))
    for step in (power * factor for factor in (1, 2, 5, 10, 20)):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < MOST_TICKS:
            return [round(step * number, 10) for number in range(first, last + 1)]
    raise AssertionError("20 times a tenth of the span leaves few ticks")
