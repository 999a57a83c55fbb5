"""Groups of rollouts by their rewards: what each rollout's advantage is, and how many groups teach something.

Rewards are of shape (prompts, G); NaN is a rollout without one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from radrl.algorithms.advantages import Convention, group_relative_advantages, zero_variance_groups
from radrl.algorithms.f_measure import BoolArray, FloatArray


def advantages(totals: FloatArray, convention: Convention) -> FloatArray:
    """Advantages among a group's rollouts that have a reward, 0 for one that has none.

    Args:
        totals: of the whole reward, shape (prompts, G).
        convention: of `radrl.algorithms.advantages`.

    Returns:
        Shape (prompts, G).
    """
    found = np.zeros_like(totals)
    for own, group in zip(found, totals, strict=True):
        scored = ~np.isnan(group)
        if scored.any():
            own[scored] = group_relative_advantages(group[scored], convention=convention)
    return found


def summed_advantages(scores: npt.ArrayLike, weights: npt.ArrayLike, convention: Convention) -> FloatArray:
    """Advantages by each part of the reward for itself, summed by weight.

    So a part counts by its weight whatever the spread of its scores (TRL's ``normalize_then_sum``, GDPO),
    where the sum of scores counts a part by weight times spread. Departure from TRL: the sum is not divided
    by its standard deviation over the batch once more. A missing score has no say in its part's mean and
    spread, and the rollout gets 0 by that part.

    Args:
        scores: by group, rollout and part, shape (prompts, G, P); NaN is missing.
        weights: of the parts at this step, shape (P,).
        convention: of `radrl.algorithms.advantages`.

    Returns:
        Shape (prompts, G).

    Example:
        >>> summed_advantages([[[0.0, 5.0], [1.0, 5.0]]], [2.0, 1.0], "population").round(3)
        array([[-2.,  2.]])
    """
    given, weight = np.asarray(scores, np.float64), np.asarray(weights, np.float64)
    parts = [advantages(given[..., part], convention) for part in range(given.shape[-1])]
    summed: FloatArray = np.stack(parts, axis=-1) @ weight
    return summed


def numbers(totals: FloatArray, earned: FloatArray, found: FloatArray | None = None) -> dict[str, float]:
    """How many groups have an advantage to learn from, and how they fare clinically, as OraPO's z.

    Wording and form differ where findings do not, and are hardly ever 0. A reward without a clinical part is
    looked at as a whole.

    Args:
        totals: of the whole reward, shape (prompts, G).
        earned: of its clinical parts, or the same; shape (prompts, G).
        found: advantages that are not those of `totals`, shape (prompts, G).

    Returns:
        Numbers of the step's record, by name.
    """
    scored = _scored(earned)
    zero = [bool(group.size and (group == 0).all()) for group in scored]
    return {
        "groups/equal_advantage_share": float(equal(totals if found is None else found).mean()),
        "groups/zero_variance_share": _equal_share(scored),
        "groups/all_zero_share": float(np.mean(zero)),
        "groups/zero_reward_share": float((earned == 0).sum() / max(1, sum(map(len, scored)))),
        "groups/unique_rewards": float(np.mean([len(np.unique(group)) for group in scored])),
    }


def equal(totals: FloatArray) -> BoolArray:
    """Which groups have no two different rewards, so that all their advantages are 0.

    Args:
        totals: of the whole reward, shape (prompts, G).

    Returns:
        Shape (prompts,); a group without any reward is one.
    """
    return np.array([_equal(group) for group in _scored(totals)])


def _scored(groups: FloatArray) -> list[FloatArray]:
    """The rewards that there are, group by group."""
    return [group[~np.isnan(group)] for group in groups]


def _equal(scored: FloatArray) -> bool:
    return bool(scored.size == 0 or zero_variance_groups(scored))


def _equal_share(scored: Sequence[FloatArray]) -> float:
    """The share of groups without two different rewards."""
    return float(np.mean([_equal(group) for group in scored]))
