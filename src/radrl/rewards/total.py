"""Parts of a reward summed by weight, group by group, where some scores may be missing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from radrl.algorithms.f_measure import FloatArray


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
