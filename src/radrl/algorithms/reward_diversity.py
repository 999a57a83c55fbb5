"""How much a group's rewards tell apart: DEER, table 7.

The share of groups without variance is `radrl.algorithms.advantages.zero_variance_groups`.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite, known
from radrl.algorithms.diversity import StandardDeviation
from radrl.algorithms.f_measure import FloatArray


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
    known(std, "std", get_args(StandardDeviation))
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
