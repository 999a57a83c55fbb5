"""Bootstrap intervals over studies grouped by patient.

Studies of one patient resemble each other, so patients are drawn with replacement, each with all its
studies (cluster bootstrap; Davison and Hinkley 1997, section 3.8).

Several runs (training seeds) of an arm on the same studies are readers of the same cases. Drawing runs with
replacement, as one draws patients, understates the variance between S runs by (S - 1) / S and knows nothing
of how badly a few runs tell it: intervals of 95 % covered 64 % (S = 2), 78 % (3) and 87 % (5) where runs
differ more than studies do. So the variance is taken apart as Obuchowski and Rockette (1995, Commun. Stat.
24:285) do for readers and cases: what all runs share of the draw of patients comes from the bootstrap; the
variance between runs, MS / S, which holds what each run has of that draw for itself, enters as a t variable
with S - 1 degrees of freedom. Adding the two by simulation is a generalised interval (Weerahandi 1993, JASA
88:899). In the same simulations it covers 94 to 98 %; with two runs it is wide, because two runs say little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtrit

from radrl.algorithms.f_measure import ratio
from radrl.evaluation import FloatArray, Metrics, SummedMetrics, mean_of_runs
from radrl.evaluation.draws import Draw, generator

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
    by_run: Metrics | None = None,
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
        by_run: `replicates` of these runs, where they are known; else they are drawn.

    Returns:
        An interval by metric name. A metric that is undefined in some resample has NaN ends.

    Raises:
        ValueError: when an argument is out of range, a patient is empty or the lengths differ.
    """
    _require_method(method)
    groups = patient_groups(patients)
    if by_run is None:
        by_run = replicates(runs, groups, resamples=resamples, seed=seed)
    pooled = mean_of_runs(runs)
    estimates = pooled.values()
    draws = {name: drawn.mean(axis=0) for name, drawn in by_run.items()}
    if method == "bca":
        by_patient = SummedMetrics(sums_by_patient(pooled.per_study, groups), pooled.of_sums)
        draws = _moved(draws, estimates, by_patient)
    spread = over_runs(draws, [(runs, by_run)], seed=seed)
    return {name: Interval(estimates[name], *quantile_ends(spread[name], level)) for name in estimates}


def patient_intervals(
    by_patient: SummedMetrics,
    estimates: Mapping[str, float],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    method: Method = "bca",
    seed: int,
) -> dict[str, Interval]:
    """`bootstrap_intervals` of one run of which nothing is held but sums over each patient's studies.

    Args:
        by_patient: the metrics, a patient's sums where a study's numbers would stand, patients in the order
            of `patient_groups`.
        estimates: the metrics over all studies, as added up in their order.
        resamples: as there.
        level: as there.
        method: as there.
        seed: as there.

    Returns:
        As there, to the last bit.

    Raises:
        ValueError: as there.
    """
    _require_method(method)
    patients = np.arange(len(by_patient.per_study))
    draws = {
        name: drawn[0]
        for name, drawn in replicates([by_patient], patients, resamples=resamples, seed=seed).items()
    }
    if method == "bca":
        draws = _moved(draws, estimates, by_patient)
    return {name: Interval(estimates[name], *quantile_ends(draws[name], level)) for name in estimates}


def _require_method(method: str) -> None:
    if method not in get_args(Method):
        raise ValueError(f"unknown method {method!r}; valid: {', '.join(get_args(Method))}")


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
    runs: Sequence[SummedMetrics], groups: npt.NDArray[np.int64], *, resamples: int, seed: int
) -> Metrics:
    """The metrics of each run in each bootstrap resample of patients.

    The same seed draws the same patients whatever the arm and run, which is what pairs them.

    Args:
        runs: the arm's metrics, one family a run.
        groups: patient numbers, shape (N,).
        resamples: B.
        seed: decides the patients drawn.

    Returns:
        By metric name, shape (S, B).

    Raises:
        ValueError: when there is no run, fewer than 1 resample, or the lengths differ.
    """
    if not runs or resamples < 1:
        raise ValueError(f"{len(runs)} runs and {resamples} resamples; give at least one of each")
    weights = _weights(int(groups.max()) + 1, resamples, seed)
    by_run = [run.of_sums(weights @ sums_by_patient(run.per_study, groups)) for run in runs]
    return {name: np.stack([one[name] for one in by_run]) for name in by_run[0]}


@lru_cache(maxsize=2)  # every arm and metric of a comparison asks for the same ones
def _weights(patients: int, resamples: int, seed: int) -> FloatArray:
    """How often each patient is drawn in each resample, shape (B, P), not to be written to."""
    drawn = generator(seed, Draw.PATIENTS).multinomial(
        patients, np.full(patients, 1 / patients), size=resamples
    )
    weights = drawn.astype(np.float64)
    weights.flags.writeable = False
    return weights


def over_runs(
    draws: Metrics, arms: Sequence[tuple[Sequence[SummedMetrics], Metrics]], *, seed: int
) -> Metrics:
    """Replicates over patients, widened by what is unknown of the runs.

    With x the replicates, m their mean and v their variance, the result is
    m + sqrt(1 - I / v) (x - m) + sqrt(M) t. M is the sample variance of an arm's S runs, divided by S; I is
    the part of v that one run has without the others, divided by S, which M holds already. Both are summed
    over the arms. The t variable has S - 1 degrees of freedom, and for two arms Welch's (1947, Biometrika
    34:28).

    Args:
        draws: by metric name, replicates of the mean over an arm's runs or of the difference of two arms'
            means, shape (B,).
        arms: of each of these arms its runs and their `replicates`.
        seed: decides the order of the t variable's values.

    Returns:
        By metric name, shape (B,). Of an arm with a single run nothing is known of the spread between runs,
        and nothing is added.
    """
    several = [(runs, by_run) for runs, by_run in arms if len(runs) > 1]
    if not several:
        return draws
    resamples = len(next(iter(draws.values())))
    # evenly spaced quantiles: with few degrees of freedom a random draw would leave the tails to chance
    shares = (generator(seed, Draw.RUNS).permutation(resamples) + 0.5) / resamples
    values = [[run.values() for run in runs] for runs, _ in several]
    spread: Metrics = {}
    for name, x in draws.items():
        between = [np.var([run[name] for run in own], ddof=1) / len(own) for own in values]
        explained = [_between_within_resamples(by_run[name]) / len(runs) for runs, by_run in several]
        by_freedom = sum(part**2 / (len(own) - 1) for part, own in zip(between, values, strict=True))
        t = stdtrit(ratio(sum(between) ** 2, by_freedom, 1.0), shares)
        kept = np.sqrt(np.maximum(0.0, 1 - ratio(sum(explained), x.var(), 1.0)))
        spread[name] = x.mean() + kept * (x - x.mean()) + np.sqrt(sum(between)) * t
    return spread


def _between_within_resamples(by_run: FloatArray) -> float:
    """Variance between runs that comes from the patients drawn, from replicates of shape (S, B)."""
    deviations = by_run - by_run.mean(axis=1, keepdims=True)
    return float(deviations.var(axis=0, ddof=1).mean())


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


def _moved(draws: Metrics, estimates: Mapping[str, float], by_patient: SummedMetrics) -> Metrics:
    sums = by_patient.per_study
    without_one = by_patient.of_sums(sums.sum(axis=0) - sums)  # each patient left out, (P,)
    return {name: _bca(estimates[name], draws[name], without_one[name]) for name in estimates}


def _bca(estimate: float, draws: FloatArray, without_one: FloatArray) -> FloatArray:
    """Efron's BCa: replicates moved so that their plain quantiles are BCa's ends, shape (B,).

    The quantile at probability p becomes that at Phi(z0 + z / (1 - a z)), z = z0 + Phi^-1(p), with z0 for the
    median bias and the acceleration a for skewness.
    """
    if np.isnan(draws).any() or np.isnan(without_one).any():
        return np.full_like(draws, np.nan)
    share_below = (np.sum(draws < estimate) + 0.5 * np.sum(draws == estimate)) / len(draws)
    z0 = ndtri(np.clip(share_below, 0.5 / len(draws), 1 - 0.5 / len(draws)))
    influence = without_one.mean() - without_one
    acceleration = ratio(np.sum(influence**3), 6 * np.sum(influence**2) ** 1.5, 0.0)
    z = z0 + ndtri((np.arange(len(draws)) + 0.5) / len(draws))
    # |a| is at most 1/6: only levels beyond any use reach the pole, and take the extreme draw
    probabilities = ndtr(z0 + z / np.maximum(1 - acceleration * z, 1e-9))
    # np.quantile of as many probabilities as draws, which is slow
    moved: FloatArray = np.interp(probabilities, np.linspace(0, 1, len(draws)), np.sort(draws))
    return moved
