"""Scores as tables on standard output: no colours and no cutting where that is no terminal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from radrl.commands.result import Figure, Result
from radrl.process.terminal import new_table, number

_WIDTH: Final = 100
"""Columns at least: a narrow terminal folds a line, and cuts no name."""


def show(result: Result, *, brief: bool) -> None:
    """Print figures by family, scores by label, what was skipped, and the protocol.

    Args:
        result: what to print.
        brief: of clinical efficacy only the F1 of each averaging.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = max(console.width, _WIDTH)
    for family, figures in result.figures.items():
        shown = {name: one for name, one in figures.items() if not brief or family != "ce" or "_f1" in name}
        if shown:
            console.print(_figures(family, shown), "")
        if len(shown) < len(figures):
            more = f"{len(figures) - len(shown)} more of {family} (precision, recall, exact match)"
            console.print(f"{more} with --metrics {family} or --json\n", style="dim", soft_wrap=True)
    for labeler in result.per_label:
        console.print(_labels(labeler, result), "")
    for name, reason in result.skipped.items():
        console.print(f"{name}: {reason}", style="yellow", soft_wrap=True)
    for line in _protocol(result):
        console.print(line, style="dim", soft_wrap=True)


def _figures(family: str, figures: Mapping[str, Figure]) -> Table:
    intervals = any(one.interval is not None for one in figures.values())
    table = new_table(family, "value", *(("low", "high") if intervals else ()))
    for name, one in figures.items():
        cells = [number(one.value)]
        if intervals:
            ends = (one.interval.low, one.interval.high) if one.interval else (math.nan, math.nan)
            cells += [number(end) for end in ends]
        table.add_row(name, *cells)
    return table


def _labels(labeler: str, result: Result) -> Table:
    """The stricter reading; both are in the JSON."""
    table = new_table(f"labels of {labeler}, positive alone", "P", "R", "F1", "present", "predicted")
    for row in result.per_label[labeler]:
        if not row.uncertain_as_positive:
            scores = [number(score) for score in (row.precision, row.recall, row.f1)]
            style = "" if row.support else "dim"
            table.add_row(row.observation, *scores, str(row.support), str(row.predicted), style=style)
    return table


def _protocol(result: Result) -> Iterator[str]:
    source = result.source
    counts = f"{source['reports']:,} reports"
    if source["patient"]:
        counts += f" of {source['patients']:,} patients"
    if source["bad_rows"]:
        counts += f", {source['bad_rows']:,} bad rows left out"
    counts += f", hypotheses that are no report: {source['empty']:,}"
    yield f"{source['file']} (sha256 {source['sha256'][:12]}): {counts}"
    for name, settings in result.settings.items():
        if settings is not None:
            yield f"{name}: {_said(settings)}"
    for family, about in result.about.items():
        if about:
            yield f"{family}: {_said(about)}"


def _said(settings: Any) -> str:
    if isinstance(settings, Mapping):
        parts = ((name, value, isinstance(value, Mapping)) for name, value in settings.items())
        return ", ".join(
            f"{name} ({_said(value)})" if inner else f"{name} {_said(value)}" for name, value, inner in parts
        )
    if isinstance(settings, (list, tuple)):
        return " ".join(map(_said, settings))
    return settings if isinstance(settings, str) else json.dumps(settings, ensure_ascii=False)
