"""Group-relative advantages: A_i = (r_i - mean r) / std r over the G rollouts of one image; by token.

All three papers use them; the conventions differ and change the size of every update, so the choice is
a parameter:

- ``trl``: sample standard deviation, eps added to it (TRL's GRPOTrainer, eps 1e-4);
- ``population``: population variance, eps inside the root (OraPO, eq. 2);
- ``none``: no division (Dr.GRPO, Liu et al. 2025).
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite
from radrl.algorithms.f_measure import BoolArray, FloatArray

Convention = Literal["trl", "population", "none"]

DEFAULT_EPS: Final[dict[Convention, float]] = {"trl": 1e-4, "population": 1e-8, "none": 0.0}


def group_relative_advantages(
    rewards: FloatArray, *, convention: Convention, eps: float | None = None
) -> FloatArray:
    """Advantages of the rollouts of each group.

    A group of equal rewards gets exactly 0, whatever the rounding of its mean.

    Args:
        rewards: rewards by group, shape (..., G).
        convention: how the spread of the group enters.
        eps: stabiliser of the division; the convention's own value when not given.

    Returns:
        Advantages, shape (..., G).

    Raises:
        ValueError: when the convention is unknown or a reward is not finite, with its place.
    """
    if convention not in DEFAULT_EPS:
        raise ValueError(f"unknown convention {convention!r}; valid: {', '.join(DEFAULT_EPS)}")
    rewards = _finite(rewards)
    equal = zero_variance_groups(rewards)
    centred = rewards - rewards.mean(axis=-1, keepdims=True)
    squares = np.sum(centred**2, axis=-1, keepdims=True)
    eps = DEFAULT_EPS[convention] if eps is None else eps
    group = rewards.shape[-1]
    scale = np.ones_like(squares)
    if convention == "trl":
        scale = np.sqrt(squares / max(group - 1, 1)) + eps
    elif convention == "population":
        scale = np.sqrt(squares / group + eps)
    live = np.broadcast_to(~equal[..., np.newaxis], rewards.shape)
    advantages: FloatArray = np.divide(centred, scale, out=np.zeros_like(rewards), where=live)
    return advantages


def zero_variance_groups(rewards: FloatArray) -> BoolArray:
    """Which groups give no learning signal: all G rewards are the same number, compared exactly.

    A tolerance on the standard deviation would both miss groups (0.1 eight times has a mean that is not 0.1)
    and swallow small true differences.

    Args:
        rewards: rewards by group, shape (..., G); G = 1 counts as equal.

    Returns:
        Booleans, shape (...).

    Raises:
        ValueError: when a group is empty or a reward is not finite.
    """
    rewards = _finite(rewards)
    equal: BoolArray = np.all(rewards == rewards[..., :1], axis=-1)
    return equal


def zero_variance_share(rewards: FloatArray) -> float:
    """Share of groups without variance (DEER, table 7).

    Args:
        rewards: rewards by group, shape (..., G), at least one group.

    Returns:
        The share, in [0, 1].

    Raises:
        ValueError: when there is no group or a reward is not finite.
    """
    return float(zero_variance_groups(rewards).mean())


def _finite(rewards: FloatArray) -> FloatArray:
    rewards = np.asarray(rewards, np.float64)
    if rewards.ndim < 1 or rewards.size == 0:
        raise ValueError(f"rewards have shape {rewards.shape}; give (..., G) with at least one group")
    bad = np.argwhere(~np.isfinite(rewards))
    if bad.size:
        place = tuple(int(i) for i in bad[0])
        raise ValueError(f"reward at {place} is {rewards[place]}; a reward must be finite or raise")
    return rewards


TokenIds = npt.NDArray[np.integer[Any]]


def token_advantages(advantages: npt.ArrayLike, weights: npt.ArrayLike) -> FloatArray:
    """A report's advantage, weighted token by token: DEER, eq. 6 (DiTPO), A_i^t = A_i w_i^t.

    The weights come from `radrl.algorithms.tf_idf` (eq. 7 and 8), from `radrl.algorithms.saliency` (eq. 12),
    or are all 1, which is GRPO.

    Args:
        advantages: A_i of each rollout, shape (..., N).
        weights: w_i^t of each token, 1 at padding and special tokens, shape (..., N, T).

    Returns:
        A_i^t, shape (..., N, T).

    Raises:
        ValueError: when the shapes do not fit, or a number is not finite.
    """
    report, token = finite(advantages, "advantage"), finite(weights, "weight")
    if token.shape[:-1] != report.shape:
        raise ValueError(
            f"advantages have shape {report.shape}, weights {token.shape}; give one row a rollout"
        )
    credit: FloatArray = report[..., np.newaxis] * token
    return credit
