"""All rows of the comparison in one plot, the highest first."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from radrl.pipelines.compare.table import HIGHER, LOWER

MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class Place:
    """One row of the plot.

    Args:
        line: of the comparison, of the metric that is drawn.
        over_seeds: what several seeds gave of the row; nothing where nobody trained it again.
        mark: whether these films decide that it is higher or lower than the reference arm.
        mark_over_seeds: the same over seeds.
    """

    line: Mapping[Hashable, Any]
    over_seeds: Mapping[Hashable, Any] | None
    mark: str
    mark_over_seeds: str


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

    def at(self, value: float) -> float:
        """Where on the scale a value stands, in per cent of its length."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)


def rank(
    comparison: pd.DataFrame, over_seeds: Sequence[Mapping[Hashable, Any]], settings: Mapping[str, Any]
) -> Ranking:
    """Sort every row by the first metric.

    Args:
        comparison: a line a row and metric.
        over_seeds: of `radrl.pipelines.compare.seeds.of_shipped`.
        settings: the section `compare`.

    Returns:
        The plot of all rows that have the metric, those that need no model and the ceiling among them.
    """
    metric, alpha = settings["metrics"][0], 1 - settings["bootstrap"]["confidence"]
    lines = comparison[comparison["metric"] == metric].sort_values("value", ascending=False, kind="stable")
    known = {line["arm"]: line for line in over_seeds}
    places = [
        Place(line, known.get(line["arm"]), _mark(line, alpha), _mark(known.get(line["arm"]), alpha))
        for line in lines.to_dict("records")
    ]
    ends = [float(value) for name in ("low", "high", "value") for value in lines[name].dropna()]
    ends += [one["mean"] + side * one["sd"] for one in known.values() for side in (-1, 1)]
    ticks = _ticks(min(ends), max(ends))
    decimals = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
    seeds = next((int(one["seeds"]) for one in known.values()), 0)
    return Ranking(metric, seeds, ticks[0], ticks[-1], [f"{tick:.{decimals}f}" for tick in ticks], places)


def _mark(line: Mapping[Hashable, Any] | None, alpha: float) -> str:
    """Of arms alone: what is no arm is tested against nothing here."""
    if line is None or line["kind"] != "arm" or pd.isna(line["p_holm"]) or line["p_holm"] >= alpha:
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
