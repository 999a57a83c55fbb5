"""The table of arms: values with intervals, paired differences from a reference arm, and honest marks."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from radrl.evaluation import Metrics, SummedMetrics
from radrl.evaluation.bootstrap import Interval, bootstrap_intervals, patient_groups, replicates
from radrl.evaluation.paired import PairedDifference, holm_within, paired_differences


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One arm on one metric.

    Args:
        arm: its name.
        metric: the metric's name.
        value: the estimate with its interval.
        trivial: whether the arm is one of the trivial rows.
        difference: paired difference from the reference arm; nothing for the reference arm itself.
        p_holm: the difference's bootstrap p corrected over the arms under study; nothing for the reference
            arm, for trivial rows, which are yardsticks and no hypotheses, and where the difference has no p.
        beaten_by: trivial rows with a higher value, in the order given.
    """

    arm: str
    metric: str
    value: Interval
    trivial: bool
    difference: PairedDifference | None
    p_holm: float | None
    beaten_by: tuple[str, ...]


def compare(
    arms: Mapping[str, SummedMetrics],
    patients: Sequence[str],
    *,
    reference: str,
    trivial: Collection[str] = (),
    resamples: int = 1000,
    level: float = 0.95,
    seed: int,
    drawn: Mapping[str, Metrics] | None = None,
) -> list[ComparisonRow]:
    """Compare arms scored on the same studies with the same metrics, all of which are better when higher.

    Args:
        arms: by name, their metrics over the same N studies, in the same order.
        patients: the patient of each study, N.
        reference: the arm the others are compared with.
        trivial: arms that need no model; an arm that one of them beats is marked. The reference reports
            scored against themselves are a ceiling and belong in `arms` but not here.
        resamples: number of resamples of every interval and test.
        level: coverage of the intervals.
        seed: decides the resamples.
        drawn: by arm, `radrl.evaluation.bootstrap.replicates`, where they are known; else they are drawn.

    Returns:
        A row per arm and metric, by arm in the given order.

    Raises:
        ValueError: when a named arm is missing, or the arms do not carry the same metrics and studies.
    """
    unknown = sorted({reference, *trivial} - arms.keys())
    if unknown:
        raise ValueError(f"no such arm: {', '.join(unknown)}; arms: {', '.join(arms)}")
    options: dict[str, Any] = {"resamples": resamples, "level": level, "seed": seed}
    drawn = drawn or drawn_alike(arms, patients, resamples=resamples, seed=seed)
    values = {
        arm: bootstrap_intervals(family, patients, **options, drawn=drawn[arm])
        for arm, family in arms.items()
    }
    against = arms[reference], drawn[reference]
    differences = {
        arm: paired_differences(family, against[0], patients, **options, drawn=(drawn[arm], against[1]))
        for arm, family in arms.items()
        if arm != reference
    }
    rows = [
        ComparisonRow(
            arm,
            metric,
            value,
            arm in trivial,
            differences[arm][metric] if arm in differences else None,
            None,
            tuple(t for t in trivial if t != arm and values[t][metric].estimate > value.estimate),
        )
        for arm in arms
        for metric, value in values[arm].items()
    ]
    return _with_holm(rows)


def drawn_alike(
    arms: Mapping[str, SummedMetrics], patients: Sequence[str], *, resamples: int, seed: int
) -> dict[str, Metrics]:
    """Every arm's replicates over the same resamples of patients, for intervals and differences alike.

    Args:
        arms: as in `compare`.
        patients: as in `compare`.
        resamples: number of resamples, B.
        seed: decides them.

    Returns:
        By arm and metric, shape (B,).
    """
    groups = patient_groups(patients)
    return {arm: replicates(own, groups, resamples=resamples, seed=seed) for arm, own in arms.items()}


def _with_holm(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """The rows with their p corrected over the arms under study, metric by metric."""
    tested = [None if row.trivial or row.difference is None else row.difference.p_bootstrap for row in rows]
    corrected = holm_within([row.metric for row in rows], tested)
    return [replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True)]


@dataclass(frozen=True, slots=True)
class Pair:
    """An arm minus another one on one metric.

    Args:
        metric: the metric's name.
        arm: the first of the two in the order of the table.
        other: the second.
        error: standard error of their difference over patients, the sample standard deviation of its
            replicates; NaN where the metric is undefined in a resample.
    """

    metric: str
    arm: str
    other: str
    error: float


def pair_errors(drawn: Mapping[str, Metrics]) -> list[Pair]:
    """The standard error over patients of the difference between any two arms.

    Args:
        drawn: by arm, `radrl.evaluation.bootstrap.replicates` of the same resamples of patients, at least
            two.

    Returns:
        A line a metric and pair, A (A - 1) / 2 pairs for A arms.
    """
    return [
        Pair(metric, arm, other, float(np.std(drawn[arm][metric] - drawn[other][metric], ddof=1)))
        for arm, other in itertools.combinations(drawn, 2)
        for metric in drawn[arm]
    ]
