"""A report's total reward: as the papers sum it, and of any parts, some of whose scores may be missing.

The papers' sums are DEER, eq. 1 and the text after it, and MRG-R1, implementation. Their terms come from
elsewhere: clinical F1 from `radrl.algorithms.f_measure`, BLEU-2 from `radrl.scoring.nlg`, MCCS from
`radrl.algorithms.mccs`, the format's credit from `radrl.reports.output`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import rates, same_shape
from radrl.algorithms.f_measure import FloatArray


def two_phase(
    share: npt.ArrayLike, *, phase_switch: float = 0.5, first: float = 0.0, second: float = 0.25
) -> FloatArray:
    """A weight that is one number before a switch and another from there on: DEER, after eq. 1.

    DEER learns on clinical F1 alone (gamma 0), then on F1 + 0.25 BLEU-2 (its table 5); the paper does not say
    when the switch comes. From a switch of 0 on both terms count from the first step.

    Args:
        share: share of the steps already done, in [0, 1], any shape; step t of T (from 0) has t / T.
        phase_switch: share of the steps at which the second phase begins, in [0, 1].
        first: weight in the first phase.
        second: weight in the second phase.

    Returns:
        The weight at each share, same shape.

    Raises:
        ValueError: when a share or the switch lies outside [0, 1].

    Example:
        >>> two_phase([0.0, 0.49, 0.5])
        array([0.  , 0.  , 0.25])
    """
    done = rates(share, "share of steps")
    switch = rates(phase_switch, "phase_switch")
    weight: FloatArray = np.where(done >= switch, np.float64(second), np.float64(first))
    return weight


def clinical_and_bleu(f1: npt.ArrayLike, bleu2: npt.ArrayLike, *, gamma: npt.ArrayLike) -> FloatArray:
    """Sum clinical F1 and language: DEER, eq. 1, r_i = F1(C(o_i), C(y)) + gamma BLEU-2(o_i, y).

    Args:
        f1: each report's own F1 over its labels, in [0, 1], shape (N,).
        bleu2: each report's BLEU-2, in [0, 1], shape (N,).
        gamma: weight of BLEU-2, not negative; `radrl.algorithms.total_reward.two_phase` gives it by step.

    Returns:
        Rewards in [0, 1 + gamma], shape (N,).

    Raises:
        ValueError: when a score lies outside [0, 1], the shapes differ or gamma is negative.
    """
    clinical, language = rates(f1, "F1"), rates(bleu2, "BLEU-2")
    same_shape(f1=clinical, bleu2=language)
    weight = np.asarray(gamma, np.float64)
    if not np.all(weight >= 0):
        raise ValueError(f"gamma is {weight}; give a weight of at least 0")
    total: FloatArray = clinical + weight * language
    return total


def clinical_and_format(
    clinical: npt.ArrayLike,
    form: npt.ArrayLike,
    *,
    clinical_weight: float = 0.75,
    format_weight: float = 0.25,
) -> FloatArray:
    """Sum the clinical and the format reward: MRG-R1, 0.75 MCCS + 0.25 format, an equation without number.

    Args:
        clinical: each output's clinical reward, in [0, 1], shape (N,).
        form: each output's format credit, in [0, 1], shape (N,).
        clinical_weight: share of the first.
        format_weight: share of the second.

    Returns:
        Rewards, in [0, 1] when the weights sum to 1, shape (N,).

    Raises:
        ValueError: when a score lies outside [0, 1], the shapes differ or a weight is negative.
    """
    said, shaped = rates(clinical, "clinical reward"), rates(form, "format credit")
    same_shape(clinical=said, form=shaped)
    if not (clinical_weight >= 0 and format_weight >= 0):
        raise ValueError(f"weights are {clinical_weight} and {format_weight}; both must be at least 0")
    total: FloatArray = clinical_weight * said + format_weight * shaped
    return total


def group_totals(scores: npt.ArrayLike, weights: npt.ArrayLike) -> FloatArray:
    """Sum the parts of each rollout's reward.

    A missing score is neither 0 nor does it take the other parts along: it counts as the mean of what the
    group's other rollouts have in that part, so that the part speaks neither for nor against the rollout. A
    part that no rollout of a group has a score in is left out for all of them. A rollout without a score in
    any part that has a weight has no total; it has no say in its group's mean and spread, and gets no
    advantage.

    Args:
        scores: by group, rollout and part, shape (..., G, P); NaN is missing.
        weights: of the parts at this step, shape (P,).

    Returns:
        Totals, shape (..., G); NaN where a rollout has none.

    Example:
        >>> group_totals([[[1.0, 0.2], [0.5, np.nan], [0.0, 0.4]]], [1.0, 1.0]).round(3)
        array([[1.2, 0.8, 0.4]])
    """
    given, weight = np.asarray(scores, np.float64), np.asarray(weights, np.float64)
    there = ~np.isnan(given)
    total: FloatArray = (np.where(there, given, _of_the_others(given, there)) * weight).sum(axis=-1)
    total[~(there & (weight != 0)).any(axis=-1)] = np.nan
    return total


def clinical_totals(
    scores: npt.ArrayLike, weights: npt.ArrayLike, clinical: npt.ArrayLike
) -> FloatArray | None:
    """Sum the clinical parts of each rollout's reward, which wording and form have no share in.

    A missing score is not made up for here: a rollout without one of the scores has no sum.

    Args:
        scores: by group, rollout and part, shape (..., G, P); NaN is missing.
        weights: of the parts at this step, shape (P,).
        clinical: which parts judge findings, shape (P,).

    Returns:
        Sums, shape (..., G), NaN where a rollout has none; nothing where no clinical part has a weight.

    Example:
        >>> clinical_totals([[[0.0, 0.2], [0.5, 0.4], [np.nan, 0.3]]], [2.0, 1.0], [True, False])
        array([[ 0.,  1., nan]])
    """
    given, weight = np.asarray(scores, np.float64), np.asarray(weights, np.float64)
    counted = np.asarray(clinical, np.bool_) & (weight != 0)
    total: FloatArray = (given[..., counted] * weight[counted]).sum(axis=-1)
    return total if counted.any() else None


def _of_the_others(given: FloatArray, there: npt.NDArray[np.bool_]) -> FloatArray:
    """The mean of each part's scores in a group, shape (..., 1, P); 0 where there are none.

    Rounding must not take it past its scores: where all are equal it is exactly that score, so that a group
    without variance stays one.
    """
    count = there.sum(axis=-2, keepdims=True)
    mean = np.where(there, given, 0.0).sum(axis=-2, keepdims=True) / np.maximum(count, 1)
    least = np.where(there, given, np.inf).min(axis=-2, keepdims=True)
    most = np.where(there, given, -np.inf).max(axis=-2, keepdims=True)
    return np.where(count > 0, np.minimum(np.maximum(mean, least), most), 0.0)
