"""How much the rewards of a film's rollouts differ, in pools of films: DEER, table 7.

The metrics are of the whole reward that the stage hands over, `ce_f1`, which is that of DEER's first phase.
Where BLEU-2 has joined it, hardly two rollouts have the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from radrl.algorithms.advantages import zero_variance_groups
from radrl.algorithms.ddsampling import StandardDeviation, reward_std, unique_rewards
from radrl.algorithms.f_measure import FloatArray
from radrl.evaluation import SummedMetrics, mean_metrics
from radrl.evaluation.draws import Draw, generator
from radrl.evaluation.paired import tabulate_with_tests
from radrl.pipelines.analyses import groups
from radrl.pipelines.analyses.groups import AnalysisSettings

METRICS: Final = ("zero_variance_ratio", "unique_rewards", "mean_reward_std")
"""As DEER's table 7 has them."""
REFERENCE: Final = "random"
"""The pool that the others are held against."""
TESTED: Final = ("ddsampling", "most_diverse")
"""The pools that are: of the pool of all films the others are parts."""


def draw_pools(
    known: Sequence[str],
    subset_random: pd.DataFrame,
    subset_ddsampling: pd.DataFrame,
    subset_most_diverse: pd.DataFrame,
    *,
    count: int,
    seed: int,
) -> dict[str, list[str]]:
    """Films of each pool: all, and the subsets.

    Args:
        known: the films that have rollouts.
        subset_random: sample_ids of the random subset.
        subset_ddsampling: sample_ids of the subset that DDSampling drew.
        subset_most_diverse: sample_ids of the most diverse films.
        count: films that a pool may have; of a larger one as many are drawn.
        seed: of these draws, the same for each pool.

    Returns:
        Film ids by pool.
    """
    films = {
        "full": known,
        "random": subset_random["sample_id"].tolist(),
        "ddsampling": subset_ddsampling["sample_id"].tolist(),
        "most_diverse": subset_most_diverse["sample_id"].tolist(),
    }
    return {
        name: groups.draw(pool, count, rng=generator(seed, Draw.POOLED_FILMS)) for name, pool in films.items()
    }


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


def tabulate(
    rewards: FloatArray,
    frame: pd.DataFrame,
    pools: Mapping[str, Collection[str]],
    settings: AnalysisSettings,
) -> pd.DataFrame:
    """Table 7 with intervals.

    Args:
        rewards: of the N = F K rollouts, shape (N,).
        frame: a table of `groups.read`, N rows.
        pools: of `draw_pools`.
        settings: which standard deviation, whose labels gave the rewards, and the resamples.

    Returns:
        A line a pool and metric, with the columns of `tabulate_with_tests`, how many films, K as group
        and the labeler.
    """
    group, std = groups.group_size(frame), settings.analyses["reward_diversity"]["std"]
    found = tabulate_with_tests(
        by_pool(rewards.reshape(-1, group), frame["sample_id"].iloc[::group].tolist(), pools, std=std),
        groups.patients(frame),
        reference=REFERENCE,
        tested=TESTED,
        bootstrap=settings.bootstrap,
        seed=settings.seed,
    )
    table = pd.DataFrame([{"pool": line.pop("row")} | line for line in found])
    counts = {name: len(pool) for name, pool in pools.items()}
    return table.assign(films=table["pool"].map(counts), group=group, labeler=settings.labeler["name"])
