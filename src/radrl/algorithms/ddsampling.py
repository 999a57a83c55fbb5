"""DDSampling: how diverse a study's rollouts are (DEER, eq. 3; table 7), log-rank draws by it (eq. 4, 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite, require_choice
from radrl.algorithms.f_measure import FloatArray, IntArray, Labels, positives

StandardDeviation = Literal["population", "sample"]


def label_diversity(
    labels: Labels, *, std: StandardDeviation = "population", uncertain_as_positive: bool = False
) -> FloatArray:
    """How much the K rollouts of a study disagree about its labels.

    D = sum over labels c of sigma_c, the standard deviation over the K rollouts of the binary label c.
    It reads no reference report. The paper leaves the kind of standard deviation open.

    For k ones among K, sigma = sqrt(k (K - k)) / K; computed from the counts and summed in sorted order,
    so that two studies whose rollouts disagree equally on different labels tie exactly and the
    seeded shuffle of `draw_log_rank` decides between them, not the last bit of a sum.

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


@dataclass(frozen=True, slots=True)
class LogRankDraw:
    """What was drawn, and with what chance.

    Args:
        rank: rank of each study by diversity, 1 the most diverse, shape (N,).
        probability: P_r of each study, shape (N,).
        drawn: indices of the drawn studies in the order of drawing, shape (n,).
    """

    rank: IntArray
    probability: FloatArray
    drawn: IntArray


def log_rank_probabilities(studies: int) -> FloatArray:
    """P_r = (1 / log(r + 1)) / sum_j 1 / log(j + 1), for ranks 1 to N; the base of the log cancels.

    Args:
        studies: N, at least 1.

    Returns:
        Probabilities by rank, falling, sum 1, shape (N,).

    Raises:
        ValueError: when there is no study.
    """
    if studies < 1:
        raise ValueError(f"there are {studies} studies to rank; give at least 1")
    weight = 1.0 / np.log(np.arange(1, studies + 1) + 1.0)
    probability: FloatArray = weight / weight.sum()
    return probability


def diversity_ranks(diversity: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rank studies by diversity, descending; ties fall in the order of a seeded shuffle, not of the ids.

    Args:
        diversity: D of each study, shape (N,).
        rng: source of the shuffle.

    Returns:
        Rank of each study, 1 the most diverse, shape (N,).

    Raises:
        ValueError: when a diversity is not finite, with its index.
    """
    diversity = np.asarray(diversity, np.float64)
    if not np.all(np.isfinite(diversity)):
        index = int(np.flatnonzero(~np.isfinite(diversity))[0])
        raise ValueError(f"diversity of study {index} is {diversity[index]}; label its rollouts again")
    shuffled = rng.permutation(len(diversity))
    order = shuffled[np.argsort(-diversity[shuffled], kind="stable")]
    ranks = np.empty(len(diversity), dtype=np.int64)
    ranks[order] = np.arange(1, len(diversity) + 1)
    return ranks


def draw_log_rank(diversity: FloatArray, *, fraction: float, seed: int) -> LogRankDraw:
    """Draw a share of the studies without replacement by log-rank probability.

    The draw is one after another with renormalised probabilities, done at once by the Gumbel top-n trick
    (the n largest of log P + Gumbel noise), so it costs one sort at any size.

    Args:
        diversity: D of each study, shape (N,).
        fraction: share to draw, in (0, 1]; the paper draws 0.2. The count is rounded, at least 1.
        seed: decides ties and the draw.

    Returns:
        Ranks, probabilities and the drawn indices.

    Raises:
        ValueError: when the fraction lies outside (0, 1], there is no study or a diversity is not finite.
    """
    count = _count(len(diversity), fraction)
    rng = np.random.default_rng(seed)
    ranks = diversity_ranks(diversity, rng)
    probability = log_rank_probabilities(len(ranks))[ranks - 1]
    keys = np.log(probability) + rng.gumbel(size=len(ranks))
    return LogRankDraw(ranks, probability, np.argsort(-keys, kind="stable")[:count])


def take_top(diversity: FloatArray, *, fraction: float, seed: int) -> IntArray:
    """Take the most diverse studies without a draw: as many, and with ties as `draw_log_rank` breaks them.

    Args:
        diversity: D of each study, shape (N,).
        fraction: share to take, in (0, 1]. The count is rounded, at least 1.
        seed: decides ties.

    Returns:
        Indices of the studies, the most diverse first.

    Raises:
        ValueError: when the fraction lies outside (0, 1] or a diversity is not finite.
    """
    count = _count(len(diversity), fraction)
    return np.argsort(diversity_ranks(diversity, np.random.default_rng(seed)), kind="stable")[:count]


def mass_of_top(studies: int, *, fraction: float) -> float:
    """The probability that eq. 5 gives to the top ranks together: sum of P_r over r up to fraction N.

    Above the fraction by little at the size of a data set, since 1 / log(r + 1) is nearly flat. It is the
    chance of the first study drawn to be one of them; of later ones it is less, as they are used up.

    Args:
        studies: N, at least 1.
        fraction: share of the ranks, in (0, 1]; the count is rounded, at least 1.

    Returns:
        A share in (0, 1].

    Raises:
        ValueError: when there is no study or the fraction lies outside (0, 1].
    """
    return float(log_rank_probabilities(studies)[: _count(studies, fraction)].sum())


def _count(studies: int, fraction: float) -> int:
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction is {fraction}; give a share in (0, 1]")
    return max(1, round(fraction * studies))
