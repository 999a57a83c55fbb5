"""Bootstrap intervals over studies grouped by patient.

Studies of one patient resemble each other, so patients are drawn with replacement, each with all its
studies (cluster bootstrap; Davison and Hinkley 1997, section 3.8). With several runs (training seeds) of
an arm, each resample also draws that many runs with replacement, so the interval speaks about the method
and not about one training. With S runs the variance between them is understated by about (S - 1) / S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from radrl.evaluation.summed import FloatArray, Metrics, SummedMetrics, mean_of_runs

Method = Literal["percentile", "bca"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A metric and its confidence interval.

    Args:
        estimate: the metric over all studies (mean over runs).
        low: lower end.
        high: upper end.
    """

    estimate: float
    low: float
    high: float


def bootstrap_intervals(
    runs: Sequence[SummedMetrics],
    patients: Sequence[str],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    method: Method = "bca",
    seed: int,
) -> dict[str, Interval]:
    """Confidence intervals of every metric of an arm.

    Args:
        runs: the arm's metrics, one family a run, over the same N studies.
        patients: the patient of each study, N.
        resamples: number of bootstrap resamples.
        level: coverage aimed at.
        method: ``"bca"`` (bias-corrected and accelerated, Efron 1987; the acceleration from leaving one
            patient out) or ``"percentile"``, which sits too low for macro averages: rare labels drop out of
            resamples, and a label without a case scores 0. Of a label with a case or two no interval tells
            the truth.
        seed: decides the resamples.

    Returns:
        An interval by metric name. A metric that is undefined in some resample has NaN ends.

    Raises:
        ValueError: when an argument is out of range, a patient is empty or the lengths differ.
    """
    if method not in get_args(Method):
        raise ValueError(f"unknown method {method!r}; valid: {', '.join(get_args(Method))}")
    groups = patient_groups(patients)
    draws = replicates(runs, groups, resamples=resamples, seed=seed)
    pooled = mean_of_runs(runs)
    estimates = pooled.values()
    if method == "percentile":
        return {name: Interval(estimates[name], *quantile_ends(draws[name], level)) for name in estimates}
    by_patient = sums_by_patient(pooled.per_study, groups)
    without_one = pooled.of_sums(by_patient.sum(axis=0) - by_patient)  # each patient left out, (P,)
    return {name: _bca(estimates[name], draws[name], without_one[name], level) for name in estimates}


def patient_groups(patients: Sequence[str]) -> npt.NDArray[np.int64]:
    """The number of each study's patient, 0 to P - 1.

    Args:
        patients: the patient of each of N studies.

    Returns:
        Patient numbers, shape (N,).

    Raises:
        ValueError: when a patient is empty: such studies would be taken for one patient's.
    """
    for study, patient in enumerate(patients):
        if not patient:
            raise ValueError(f"study {study} has no patient; give the study's own id where it is unknown")
    _, groups = np.unique(np.asarray(patients, dtype=str), return_inverse=True)
    return groups.astype(np.int64).reshape(-1)


def sums_by_patient(per_study: FloatArray, groups: npt.NDArray[np.int64]) -> FloatArray:
    """Statistics summed over each patient's studies.

    Args:
        per_study: shape (N, D).
        groups: patient numbers, shape (N,).

    Returns:
        Sums, shape (P, D).

    Raises:
        ValueError: when the lengths differ.
    """
    if len(per_study) != len(groups):
        raise ValueError(f"metrics cover {len(per_study)} studies but {len(groups)} patients are given")
    sums = np.zeros((int(groups.max()) + 1, per_study.shape[1]))
    np.add.at(sums, groups, per_study)
    return sums


def replicates(
    runs: Sequence[SummedMetrics],
    groups: npt.NDArray[np.int64],
    *,
    resamples: int,
    seed: int,
    arm: int = 0,
) -> Metrics:
    """The metrics of each bootstrap resample.

    The same seed draws the same patients whatever the arm, which is what pairs two arms; `arm` separates
    only their draws of runs.

    Args:
        runs: the arm's metrics, one family a run.
        groups: patient numbers, shape (N,).
        resamples: B.
        seed: decides the patients drawn.
        arm: number of the arm, for its draw of runs.

    Returns:
        By metric name, shape (B,).

    Raises:
        ValueError: when there is no run, fewer than 1 resample, or the lengths differ.
    """
    if not runs or resamples < 1:
        raise ValueError(f"{len(runs)} runs and {resamples} resamples; give at least one of each")
    patients = int(groups.max()) + 1
    drawn = np.random.default_rng([seed, 0]).multinomial(
        patients, np.full(patients, 1 / patients), size=resamples
    )  # how often each patient is drawn, (B, P)
    weights = drawn.astype(np.float64)
    by_run = [run.of_sums(weights @ sums_by_patient(run.per_study, groups)) for run in runs]
    times = np.random.default_rng([seed, 1, arm]).multinomial(
        len(runs), np.full(len(runs), 1 / len(runs)), size=resamples
    )  # how often each run is drawn, (B, S)
    return {
        name: np.sum([times[:, i] * by_run[i][name] for i in range(len(runs))], axis=0) / len(runs)
        for name in by_run[0]
    }


def quantile_ends(draws: FloatArray, level: float) -> tuple[float, float]:
    """The central interval of bootstrap replicates.

    Args:
        draws: replicates, shape (B,).
        level: coverage, in (0, 1).

    Returns:
        Lower and upper end; NaN when a replicate is.

    Raises:
        ValueError: when the level lies outside (0, 1).
    """
    low, high = np.quantile(draws, _tails(level))
    return float(low), float(high)


def _tails(level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage in (0, 1), 0.95 for 95 %")
    return (1 - level) / 2, (1 + level) / 2


def _bca(estimate: float, draws: FloatArray, without_one: FloatArray, level: float) -> Interval:
    """Efron's BCa: percentiles shifted for the median bias z0 and the skewness `acceleration`."""
    if np.isnan(draws).any() or np.isnan(without_one).any():
        return Interval(estimate, math.nan, math.nan)
    normal = NormalDist()
    share_below = (np.sum(draws < estimate) + 0.5 * np.sum(draws == estimate)) / len(draws)
    share_below = min(max(float(share_below), 0.5 / len(draws)), 1 - 0.5 / len(draws))
    z0 = normal.inv_cdf(share_below)
    influence = without_one.mean() - without_one
    spread = float(np.sum(influence**2))
    acceleration = float(np.sum(influence**3)) / (6 * spread**1.5) if spread > 0 else 0.0
    ends = []
    for probability in _tails(level):
        z = z0 + normal.inv_cdf(probability)
        # |acceleration| is at most 1/6: only levels beyond any use reach the pole, and take the extreme draw
        ends.append(normal.cdf(z0 + z / max(1 - acceleration * z, 1e-9)))
    low, high = np.quantile(draws, ends)
    return Interval(estimate, float(low), float(high))
