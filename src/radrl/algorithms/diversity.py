"""Diversity of a study's rollouts: of their diagnoses (DEER, eq. 3: DDSampling), and rewards (table 7)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite, require_choice
from radrl.algorithms.f_measure import FloatArray, Labels, positives

StandardDeviation = Literal["population", "sample"]


def label_diversity(
    labels: Labels, *, std: StandardDeviation = "population", uncertain_as_positive: bool = False
) -> FloatArray:
    """How much the K rollouts of a study disagree about its labels.

    D = sum over labels c of sigma_c, the standard deviation over the K rollouts of the binary label c.
    It reads no reference report. The paper leaves the kind of standard deviation open.

    For k ones among K, sigma = sqrt(k (K - k)) / K; computed from the counts and summed in sorted order,
    so that two studies whose rollouts disagree equally on different labels tie exactly and the
    seeded shuffle of `log_rank` decides between them, not the last bit of a sum.

    Args:
        labels: class indices of the rollouts, shape (..., K, C).
        std: ``"population"`` divides by K, ``"sample"`` by K - 1.
        uncertain_as_positive: the reading of uncertain labels.

    Returns:
        D of each study, 0 when all its rollouts agree, shape (...).

    Raises:
        ValueError: when there are too few rollouts, std is unknown, or an entry is no class index.
    """
    positive = positives(labels, uncertain_as_positive=uncertain_as_positive)
    if positive.ndim < 2:
        raise ValueError(f"labels have shape {positive.shape}; give (..., K rollouts, C labels)")
    rollouts = positive.shape[-2]
    if rollouts < 2:
        raise ValueError(f"{rollouts} rollouts a study have no spread; draw at least 2")
    if std not in get_args(StandardDeviation):
        raise ValueError(f"unknown std {std!r}; valid: {', '.join(get_args(StandardDeviation))}")
    divisor = rollouts if std == "population" else rollouts - 1
    ones = positive.sum(axis=-2)
    sigma = np.sqrt(ones * (rollouts - ones) / (rollouts * divisor))  # (..., C)
    total: FloatArray = np.sort(sigma, axis=-1).sum(axis=-1)
    return total


def unique_rewards(rewards: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """How many different rewards each group holds, compared exactly.

    Args:
        rewards: rewards by group, shape (..., G).

    Returns:
        1 where all are equal, at most G, shape (...).

    Raises:
        ValueError: when a group is empty or a reward is not finite.

    Example:
        >>> unique_rewards([[0.5, 0.0, 0.5], [1.0, 1.0, 1.0]]).tolist()
        [2, 1]
    """
    ordered = np.sort(_groups(rewards), axis=-1)
    found: npt.NDArray[np.int64] = 1 + (np.diff(ordered, axis=-1) > 0).sum(axis=-1)
    return found


def reward_std(rewards: npt.ArrayLike, *, std: StandardDeviation = "population") -> FloatArray:
    """The standard deviation of each group's rewards; the paper does not say which.

    Args:
        rewards: rewards by group, shape (..., G).
        std: ``"population"`` divides by G, ``"sample"`` by G - 1.

    Returns:
        Exactly 0 where all rewards of a group are equal, shape (...).

    Raises:
        ValueError: when std is unknown, a group is too small for it, or a reward is not finite.
    """
    require_choice(std, "std", get_args(StandardDeviation))
    given = _groups(rewards)
    if std == "sample" and given.shape[-1] < 2:
        raise ValueError("groups of 1 reward have no sample standard deviation; take population")
    spread = given.std(axis=-1, ddof=int(std == "sample"))
    alike: FloatArray = np.where(np.all(given == given[..., :1], axis=-1), 0.0, spread)
    return alike


def _groups(rewards: npt.ArrayLike) -> FloatArray:
    given = finite(rewards, "reward")
    if given.ndim < 1 or given.shape[-1] == 0:
        raise ValueError(f"rewards have shape {given.shape}; give (..., G) with G of at least 1")
    return given
