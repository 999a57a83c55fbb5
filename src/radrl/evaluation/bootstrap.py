"""Bootstrap intervals over studies grouped by patient.

Studies of one patient resemble each other, so patients are drawn with replacement, each with all its
studies (cluster bootstrap; Davison and Hinkley 1997, section 3.8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from radrl.algorithms.f_measure import ratio
from radrl.evaluation import FloatArray, Metrics, SummedMetrics
from radrl.evaluation.draws import Draw, generator

Method = Literal["percentile", "bca"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A metric and its confidence interval.

    Args:
        estimate: the metric over all studies.
        low: lower end.
        high: upper end.
    """

    estimate: float
    low: float
    high: float


def bootstrap_intervals(
    family: SummedMetrics,
    patients: Sequence[str],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    method: Method = "bca",
    seed: int,
    drawn: Metrics | None = None,
) -> dict[str, Interval]:
    """Confidence intervals of every metric of a row.

    Args:
        family: the metrics over N studies.
        patients: the patient of each study, N.
        resamples: number of bootstrap resamples.
        level: coverage aimed at.
        method: ``"bca"`` (bias-corrected and accelerated, Efron 1987; the acceleration from leaving one
            patient out) or ``"percentile"``, which sits too low for macro averages: rare labels drop out of
            resamples, and a label without a case scores 0. Of a label with a case or two no interval tells
            the truth.
        seed: decides the resamples.
        drawn: `replicates` of the family, where they are known; else they are drawn.

    Returns:
        An interval by metric name. A metric that is undefined in some resample has NaN ends.

    Raises:
        ValueError: when an argument is out of range, a patient is empty or the lengths differ.
    """
    by_patient = SummedMetrics(sums_by_patient(family.per_study, patient_groups(patients)), family.of_sums)
    return patient_intervals(
        by_patient,
        family.values(),
        resamples=resamples,
        level=level,
        method=method,
        seed=seed,
        drawn=drawn,
    )


def patient_intervals(
    by_patient: SummedMetrics,
    estimates: Mapping[str, float],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    method: Method = "bca",
    seed: int,
    drawn: Metrics | None = None,
) -> dict[str, Interval]:
    """`bootstrap_intervals` of metrics of which nothing is held but sums over each patient's studies.

    Args:
        by_patient: the metrics, a patient's sums where a study's numbers would stand, patients in the order
            of `patient_groups`.
        estimates: the metrics over all studies, as added up in their order.
        resamples: as there.
        level: as there.
        method: as there.
        seed: as there.
        drawn: as there.

    Returns:
        As there, to the last bit.

    Raises:
        ValueError: as there.
    """
    if method not in get_args(Method):
        raise ValueError(f"unknown method {method!r}; valid: {', '.join(get_args(Method))}")
    if drawn is None:
        patients = np.arange(len(by_patient.per_study))
        drawn = replicates(by_patient, patients, resamples=resamples, seed=seed)
    draws = _moved(drawn, estimates, by_patient) if method == "bca" else drawn
    return {name: Interval(estimates[name], *quantile_ends(draws[name], level)) for name in estimates}


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


def replicates(family: SummedMetrics, groups: npt.NDArray[np.int64], *, resamples: int, seed: int) -> Metrics:
    """The metrics of a row in each bootstrap resample of patients.

    The same seed draws the same patients whatever the row, which is what pairs rows.

    Args:
        family: the row's metrics.
        groups: patient numbers, shape (N,).
        resamples: B.
        seed: decides the patients drawn.

    Returns:
        By metric name, shape (B,).

    Raises:
        ValueError: when there are fewer than 1 resample, or the lengths differ.
    """
    if resamples < 1:
        raise ValueError(f"{resamples} resamples; give at least one")
    weights = _weights(int(groups.max()) + 1, resamples, seed)
    return family.of_sums(weights @ sums_by_patient(family.per_study, groups))


@lru_cache(maxsize=2)  # every arm and metric of a comparison asks for the same ones
def _weights(patients: int, resamples: int, seed: int) -> FloatArray:
    """How often each patient is drawn in each resample, shape (B, P), not to be written to."""
    drawn = generator(seed, Draw.PATIENTS).multinomial(
        patients, np.full(patients, 1 / patients), size=resamples
    )
    weights = drawn.astype(np.float64)
    weights.flags.writeable = False
    return weights


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
