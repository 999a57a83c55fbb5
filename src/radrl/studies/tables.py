"""The comparisons of a study's experiments, pooled: a row a run, metric and arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from radrl.evaluation.paired import holm_within
from radrl.evaluation.pooling import pool_differences, standard_error
from radrl.evaluation.seed_variance import Prior, variance_prior

_ENDS: Final = ("difference_low", "difference_high")


@dataclass(frozen=True, slots=True)
class Gain:
    """An arm minus the reference arm.

    Args:
        difference: over several seeds the mean of the seeds' differences.
        low: lower end of its interval.
        high: upper end.
        p: two-sided; NaN where the patients are too few.
    """

    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class PooledRow:
    """One arm of one run on one metric, over all seeds.

    Args:
        run: which run.
        metric: the metric's name.
        arm: the arm's name.
        kind: arm, system (not ours), trivial (needs no model), reader (of labels off films) or ceiling (the
            reference reports).
        seeds: how many.
        mean: over the seeds.
        std: sample standard deviation between the seeds; nothing with one.
        gain: the difference from the reference arm; nothing for that arm, systems, readers and
            the ceiling.
        p_holm: its p corrected over the arms of all runs, within the metric; nothing for trivial rows, which
            are no hypotheses.
        beaten_by: the trivial rows with a higher mean, for an arm.
    """

    run: str
    metric: str
    arm: str
    kind: str
    seeds: int
    mean: float
    std: float | None
    gain: Gain | None
    p_holm: float | None
    beaten_by: tuple[str, ...]


def pooled(comparisons: pd.DataFrame, level: float) -> list[PooledRow]:
    """Each arm on each metric over all seeds, in the order of the first seed's table.

    Args:
        comparisons: the experiments' comparisons below one another, with `run` and `seed`.
        level: coverage of the comparisons' intervals, and of the pooled ones.

    Returns:
        The rows, by metric.

    Raises:
        ValueError: when a seed lacks a row of another one, or a number of a row.
    """
    rows: list[PooledRow] = []
    for run, own in comparisons.groupby("run", sort=False):
        seeds = own["seed"].nunique()
        priors = {str(metric): _prior(values, seeds) for metric, values in own.groupby("metric")}
        for (metric, arm), values in own.groupby(["metric", "arm"], sort=False):
            if len(values) != seeds:
                raise ValueError(
                    f"{arm} on {metric} is in {len(values)} of {seeds} seeds; run all of them again"
                )
            _require_numbers(str(run), str(metric), str(arm), values)
            rows.append(_row(str(run), str(metric), str(arm), values, level, priors[str(metric)]))
    order = {metric: i for i, metric in enumerate(dict.fromkeys(row.metric for row in rows))}
    return _with_trivial(_with_holm(sorted(rows, key=lambda row: order[row.metric])))


def without_repeats(rows: Sequence[PooledRow]) -> list[PooledRow]:
    """Leave out rows without a model that an earlier run has alike, because both runs have the same films.

    Args:
        rows: of `pooled`.

    Returns:
        The others, in their order.
    """
    seen: set[tuple[object, ...]] = set()
    kept = []
    for row in rows:
        same = (row.metric, row.arm, row.mean, row.std, row.gain)
        if row.kind == "arm" or same not in seen:
            kept.append(row)
        seen.add(same)
    return kept


def _require_numbers(run: str, metric: str, arm: str, values: pd.DataFrame) -> None:
    """Refuse a mean of fewer seeds than the page says; rows that are tested against nothing have no gain.

    Of too few patients (`radrl.evaluation.paired.FEWEST_PATIENTS`) no seed has a p.
    """
    tested = values["difference"].notna().any()
    p = [] if values["p"].isna().all() else ["p"]
    for column in ("value", *(("difference", *_ENDS, *p) if tested else ())):
        if (lacking := values[column].isna()).any():
            seeds = ", ".join(map(str, sorted(values.loc[lacking, "seed"])))
            raise ValueError(
                f"{f'run {run}, ' if run else ''}{arm} on {metric}: no {column} in seed {seeds}, where the "
                "metric is undefined; leave it out of the study's `metrics`, or run other seeds"
            )


def _prior(of_metric: pd.DataFrame, seeds: int) -> Prior | None:
    """What the arms of a run say of the spread between seeds, each from its differences."""
    arms = of_metric[(of_metric["kind"] == "arm") & of_metric["difference"].notna()]
    if seeds == 1:
        return None
    return variance_prior(arms.groupby("arm")["difference"].std(ddof=1).tolist(), seeds - 1)


def _row(
    run: str, metric: str, arm: str, values: pd.DataFrame, level: float, prior: Prior | None
) -> PooledRow:
    seeds = len(values)
    return PooledRow(
        run,
        metric,
        arm,
        str(values["kind"].iloc[0]),
        seeds,
        float(values["value"].mean()),
        float(values["value"].std(ddof=1)) if seeds > 1 else None,
        _gain(values, level, prior),
        None,
        (),
    )


def _gain(values: pd.DataFrame, level: float, prior: Prior | None) -> Gain | None:
    if values["difference"].isna().all():
        return None
    if len(values) == 1:  # nothing to pool: the seed's own interval over its patients
        return Gain(*(float(values[name].iloc[0]) for name in ("difference", *_ENDS, "p")))
    found = pool_differences(values["difference"].tolist(), _errors(values, level), level=level, prior=prior)
    p = math.nan if values["p"].isna().all() else found.p
    return Gain(found.difference, found.low, found.high, p)


def _errors(values: pd.DataFrame, level: float) -> list[float]:
    """Each seed's error over its patients; 0 where all have the same, and training alone is asked."""
    if share_films(values):
        return [0.0] * len(values)
    ends = zip(*(values[name] for name in _ENDS), strict=True)
    return [standard_error(low, high, level=level) for low, high in ends]


def share_films(values: pd.DataFrame) -> bool:
    """Whether the seeds of some lines of a comparison have the same films.

    Args:
        values: the lines; without the column `shared_films` each seed has its own.
    """
    return "shared_films" in values and bool(values["shared_films"].all())


def _with_holm(rows: Sequence[PooledRow]) -> list[PooledRow]:
    """The rows with their p corrected over the arms, metric by metric."""
    tested = [row.gain.p if row.kind == "arm" and row.gain is not None else None for row in rows]
    corrected = holm_within([row.metric for row in rows], tested)
    return [replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True)]


def _with_trivial(rows: Sequence[PooledRow]) -> list[PooledRow]:
    """Name the trivial rows of the same run that score higher."""
    trivial = [row for row in rows if row.kind == "trivial"]
    return [
        replace(row, beaten_by=tuple(other.arm for other in trivial if _beats(other, row)))
        if row.kind == "arm"
        else row
        for row in rows
    ]


def _beats(other: PooledRow, row: PooledRow) -> bool:
    return (other.run, other.metric) == (row.run, row.metric) and other.mean > row.mean
