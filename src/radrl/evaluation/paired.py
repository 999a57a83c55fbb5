"""Is one arm better than another on the same studies? Paired bootstrap, approximate randomisation, Holm."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from radrl.evaluation import FloatArray, Metrics, SummedMetrics
from radrl.evaluation.bootstrap import (
    bootstrap_intervals,
    patient_groups,
    quantile_ends,
    replicates,
    sums_by_patient,
)
from radrl.evaluation.draws import Draw, generator

FEWEST_PATIENTS: Final = 10
"""Below it a difference has no p.

Swapping two arms' reports patient by patient gives n patients no p under 2 ** (1 - n): three can never say
less than 0.25, and after Holm's correction over the 9 arms that the shipped study tests 9 patients are wanted
to come under 0.05; ten serve up to 25 arms. The bootstrap has no such floor: it resamples the same few, whom
by chance one arm suits, and would call 0.004 what the swaps call 0.25."""


def enough(patients: int) -> bool:
    """Whether a difference over so many patients has a p; see `FEWEST_PATIENTS`."""
    return patients >= FEWEST_PATIENTS


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Arm minus reference arm on one metric.

    Args:
        difference: of the estimates.
        low: lower end of its bootstrap interval.
        high: upper end.
        p_bootstrap: two-sided, from the same resamples as the interval: under 1 - level where the interval
            leaves out 0, but for the +1 correction. NaN of fewer than `FEWEST_PATIENTS`.
        p_randomisation: two-sided, from swapping the arms' reports patient by patient; NaN likewise.
            Either asks whether these two trainings differ; whether the methods do, several seeds tell
            (`radrl.evaluation.pooling`).
        patients: that it is over.
    """

    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float
    patients: int


def paired_differences(
    arm: SummedMetrics,
    reference: SummedMetrics,
    patients: Sequence[str],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int,
    drawn: tuple[Metrics, Metrics] | None = None,
) -> dict[str, PairedDifference]:
    """Compare two arms scored on the same studies.

    Args:
        arm: the arm's metrics over N studies.
        reference: the same metrics of the arm it is compared with, over the same studies in the same order.
        patients: the patient of each study, N.
        resamples: number of bootstrap resamples and of random swaps.
        level: coverage of the interval.
        seed: decides both.
        drawn: `radrl.evaluation.bootstrap.replicates` of either, where they are known; else they are drawn.

    Returns:
        A paired difference by metric name.

    Raises:
        ValueError: when the arms do not carry the same metrics or the numbers of studies differ.
    """
    groups = patient_groups(patients)
    ours, theirs = arm.values(), reference.values()
    if ours.keys() != theirs.keys():
        raise ValueError(f"metrics of one arm only: {', '.join(sorted(ours.keys() ^ theirs.keys()))}")
    own, other = drawn or (
        replicates(one, groups, resamples=resamples, seed=seed) for one in (arm, reference)
    )
    draws = _differences(own, other)
    counted = int(groups.max()) + 1
    p_drawn = {name: _two_sided(draws[name]) if enough(counted) else math.nan for name in ours}
    p_swapped = (
        randomisation_p(arm, reference, groups_of=patients, resamples=resamples, seed=seed)
        if enough(counted)
        else p_drawn
    )
    return {
        name: PairedDifference(
            ours[name] - theirs[name],
            *quantile_ends(draws[name], level),
            p_drawn[name],
            p_swapped[name],
            counted,
        )
        for name in ours
    }


def randomisation_p(
    arm: SummedMetrics,
    reference: SummedMetrics,
    *,
    groups_of: Sequence[str],
    resamples: int = 1000,
    seed: int,
) -> dict[str, float]:
    """Approximate randomisation test (Noreen 1989) with patients as the units of exchange.

    If the arms were equal, either arm's reports could have come from the other. Each resample swaps the
    arms of each patient with probability one half; p is the share of resamples, the observed one counted,
    whose absolute difference is at least the observed one.

    Args:
        arm: metrics over N studies.
        reference: the same metrics over the same studies.
        groups_of: the patient of each study, N.
        resamples: number of random swaps.
        seed: decides the swaps.

    Returns:
        Two-sided p by metric name; NaN where the metric is undefined on a resample, as of the bootstrap.

    Raises:
        ValueError: when the numbers of studies differ.
    """
    groups = patient_groups(groups_of)
    own, other = sums_by_patient(arm.per_study, groups), sums_by_patient(reference.per_study, groups)
    moved = _swaps(len(own), resamples, seed) @ (other - own)
    draws = _differences(arm.of_sums(own.sum(axis=0) + moved), reference.of_sums(other.sum(axis=0) - moved))
    observed = _differences(arm.of_sums(own.sum(axis=0)), reference.of_sums(other.sum(axis=0)))
    return {name: _share_as_extreme(draws[name], float(observed[name])) for name in draws}


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: family-wise error over several comparisons (Holm 1979).

    Args:
        p_values: one per comparison.

    Returns:
        Adjusted p-values in the same order.

    Raises:
        ValueError: when a p-value lies outside [0, 1].
    """
    p = np.asarray(p_values, np.float64)
    if not bool(np.all((p >= 0) & (p <= 1))):
        raise ValueError(f"p-values outside [0, 1]: {list(p_values)}")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in adjusted]


def holm_within(families: Sequence[Hashable], p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction within each family of comparisons.

    Args:
        families: of each comparison its family, such as its metric.
        p_values: one per comparison; None or NaN for what is not tested, which is no hypothesis.

    Returns:
        Adjusted p-values in the same order; None for what is not tested.

    Raises:
        ValueError: when a p-value lies outside [0, 1].

    Example:
        >>> holm_within(["a", "a", "b", "b"], [0.01, 0.04, 0.04, None])
        [0.02, 0.04, 0.04, None]
    """
    adjusted: list[float | None] = [None] * len(p_values)
    for family in dict.fromkeys(families):
        tested = {
            i: p
            for i, (own, p) in enumerate(zip(families, p_values, strict=True))
            if own == family and p is not None and not math.isnan(p)
        }
        for i, corrected in zip(tested, holm(list(tested.values())), strict=True):
            adjusted[i] = corrected
    return adjusted


@lru_cache(maxsize=2)  # every pair of arms of a comparison asks for the same ones
def _swaps(patients: int, resamples: int, seed: int) -> FloatArray:
    """Whether each patient's reports are swapped in each resample, shape (B, P), not to be written to."""
    swapped = generator(seed, Draw.SWAPS).integers(0, 2, size=(resamples, patients)).astype(np.float64)
    swapped.flags.writeable = False
    return swapped


def _differences(ours: Metrics, theirs: Metrics) -> Metrics:
    return {name: ours[name] - theirs[name] for name in ours}


def _share_as_extreme(draws: FloatArray, observed: float) -> float:
    """The share of swaps at least as far from 0 as the observed difference, which is one of them."""
    if np.isnan(draws).any() or np.isnan(observed):
        return float("nan")
    slack = 1e-12  # swaps that reproduce the observed difference count as ties in spite of rounding
    return float((1 + np.sum(np.abs(draws) >= abs(observed) - slack)) / (1 + len(draws)))


def _two_sided(draws: FloatArray) -> float:
    """Twice the smaller tail of the replicates beyond 0, with the +1 correction that keeps p above 0."""
    if np.isnan(draws).any():
        return float("nan")
    tail = min(int(np.sum(draws <= 0)), int(np.sum(draws >= 0)))
    return min(1.0, 2 * (1 + tail) / (1 + len(draws)))


def tabulate_with_tests(
    rows: Mapping[str, SummedMetrics],
    patients: Sequence[str],
    *,
    reference: str,
    tested: Collection[str],
    bootstrap: Mapping[str, Any],
    seed: int,
) -> list[dict[str, Any]]:
    """Every row's metrics with their intervals over patients, and what tells it from the reference row.

    Args:
        rows: metrics by row, all over the same films.
        patients: the patient of each film.
        reference: the row that the others are tested against.
        tested: the rows that are.
        bootstrap: resamples and confidence.
        seed: of the resamples.

    Returns:
        A line a row and metric: row, metric, value, low, high; of the rows that are tested the difference
        from the reference row with its interval, p of the paired bootstrap and of approximate randomisation,
        and Holm's correction of the former over these rows. Ends and p are NaN where a resample leaves a row
        without a film, as it may where films are few.
    """
    options = {"resamples": bootstrap["resamples"], "level": bootstrap["confidence"], "seed": seed}
    tests = {name: paired_differences(rows[name], rows[reference], patients, **options) for name in tested}
    found: list[dict[str, Any]] = []
    for name, family in rows.items():
        for metric, value in bootstrap_intervals(family, patients, **options).items():
            line = {"row": name, "metric": metric, "value": value.estimate}
            line |= {"low": value.low, "high": value.high}
            found.append(line | (_test(name, {row: own[metric] for row, own in tests.items()})))
    return found


def _test(name: str, tests: Mapping[str, PairedDifference]) -> dict[str, float]:
    """What one row's test says, beside those of the other rows on the same metric."""
    if name not in tests:
        return {}
    own, p = tests[name], [test.p_bootstrap for test in tests.values()]
    corrected = holm(p) if all(map(math.isfinite, p)) else [math.nan] * len(p)
    return {
        "difference": own.difference,
        "difference_low": own.low,
        "difference_high": own.high,
        "p": own.p_bootstrap,
        "p_randomisation": own.p_randomisation,
        "p_holm": corrected[list(tests).index(name)],
    }
