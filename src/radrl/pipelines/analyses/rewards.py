"""How much the rewards of a film's rollouts differ, in pools of films: DEER, table 7."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np

from radrl.algorithms.advantages import zero_variance_groups
from radrl.algorithms.diversity import StandardDeviation
from radrl.algorithms.f_measure import FloatArray
from radrl.algorithms.reward_diversity import reward_std, unique_rewards
from radrl.evaluation.summed import SummedMetrics, mean_metrics

METRICS: Final = ("zero_variance_ratio", "unique_rewards", "mean_reward_std")
"""As DEER's table 7 has them."""


def by_pool(
    rewards: FloatArray,
    films: Sequence[str],
    pools: Mapping[str, Collection[str]],
    *,
    std: StandardDeviation,
) -> dict[str, SummedMetrics]:
    """Table 7's metrics of each pool.

    Every pool is spread over all films, the others without a value, so that a resample of patients draws the
    pools together and films that two pools share are drawn for both.

    Args:
        rewards: of the K rollouts of F films, shape (F, K).
        films: F ids.
        pools: ids of the films of each pool, all among `films`.
        std: which standard deviation.

    Returns:
        By pool, its metrics over the F films.
    """
    found = (zero_variance_groups(rewards), unique_rewards(rewards), reward_std(rewards, std=std))
    families: dict[str, SummedMetrics] = {}
    for name, pool in pools.items():
        inside = np.isin(np.asarray(films), list(pool))
        values = {metric: np.where(inside, own, np.nan) for metric, own in zip(METRICS, found, strict=True)}
        families[name] = mean_metrics(values, missing=True)
    return families
