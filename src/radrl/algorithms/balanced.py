"""A label-balanced subset of complete studies: OraPO's training data (its section on data sets).

The paper takes 1,000 studies "with a balanced ground-truth label set", leaves out reports with a missing
section, and does not say how it balances. Here the studies are chosen for three aims, each within the ones
before it, and each with a proven bound (`radrl.algorithms.balance_programs`):

1. The level t, as high as possible up to a goal: every label is positive in at least t chosen studies, or in
   all that there are. So rare labels come in whole, and the next rarest as far as the studies reach.
2. The peak u, as low as possible: no label is positive in more than u chosen studies.
3. As few positives as possible in all: common labels ride along as little as the first two aims allow.

The goal is the fair share: the positives a label when chosen studies are as rich in labels as the pool and
all labels equal. Beyond it a label gains only through studies with ever more findings at once, and equality
is lost (docs/balanced.md has figures). Where the goal is out of reach, the sorted counts are those of leximin
up to the first label that has studies left over, and that one ends at t in both; from there on leximin would
raise the common labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from radrl.algorithms.balance_programs import NODES, Answer, Pool, fewest_positives, level_limit, lowest_peak
from radrl.algorithms.f_measure import BoolArray, IntArray, Labels, positives


@dataclass(frozen=True, slots=True)
class BalancedSubset:
    """What was chosen, how even it is, and how even it could have been.

    Args:
        chosen: indices of the chosen studies, ascending, shape (size,).
        counts: studies a label among the chosen, shape (C,).
        supply: studies a label among the complete ones, shape (C,).
        goal: the level aimed for.
        level: every label has `level` studies, or all that there are.
        level_bound: no choice of as many complete studies has a higher level.
        peak: studies of the most frequent label among the chosen.
        peak_bound: no choice on this level has a lower peak.
        total: positives of all labels among the chosen.
        total_bound: no choice on this level and with this peak has fewer.
    """

    chosen: IntArray
    counts: IntArray
    supply: IntArray
    goal: int
    level: int
    level_bound: int
    peak: int
    peak_bound: int
    total: int
    total_bound: int

    @property
    def proven(self) -> bool:
        """Whether each aim meets its bound, so that no choice is better."""
        highest = min(self.goal, self.level_bound)
        return (self.level, self.peak, self.total) == (highest, self.peak_bound, self.total_bound)


@dataclass(frozen=True, slots=True)
class _Search:
    taken: IntArray  # (P,)
    goal: int
    level: int
    level_bound: int
    peak_bound: int
    total_bound: int


def balanced_subset(
    labels: Labels,
    complete: BoolArray,
    size: int,
    *,
    seed: int,
    goal: int | None = None,
    uncertain_as_positive: bool = False,
    nodes: int = NODES,
) -> BalancedSubset:
    """Choose studies whose positive labels are as evenly spread as the data allow.

    Studies without any positive label balance nothing and are taken only when no other is left. How many
    studies of each label set are taken depends on the data alone; the seed decides which.

    Args:
        labels: class indices of the N reference reports, shape (N, C).
        complete: whether a study has every section, shape (N,).
        size: number of studies to choose.
        seed: decides between studies with the same labels.
        goal: level above which no more is asked for, or nothing for the fair share. What the greedy choice
            reaches is always asked for, so the rarest label never has fewer studies than by that.
        uncertain_as_positive: the reading of uncertain labels.
        nodes: nodes of branch and bound an integer program may take; beyond them the best choice found is
            handed on with its bounds.

    Returns:
        The choice and its bounds.

    Raises:
        ValueError: when the shapes do not fit or there are fewer complete studies than asked for.
    """
    candidates = np.random.default_rng(seed).permutation(_candidates(labels, complete, size))
    positive = positives(np.asarray(labels)[candidates], uncertain_as_positive=uncertain_as_positive)
    # in the order of the label sets themselves, so that neither seed nor file order reaches the solver
    patterns, group, available = np.unique(positive, axis=0, return_inverse=True, return_counts=True)
    labelled = patterns.any(axis=1)
    studies = int(available[labelled].sum())
    pool = Pool(patterns[labelled].astype(np.int64), available[labelled], min(size, studies))
    found = _search(pool, fair_share(pool) if goal is None else goal, nodes)
    quota = np.full(len(patterns), size - pool.size)  # of label sets: the empty one is what is left over
    quota[labelled] = found.taken
    members = np.split(np.argsort(group.reshape(-1), kind="stable"), np.cumsum(available)[:-1])
    chosen = np.concatenate([rows[:count] for rows, count in zip(members, quota, strict=True)])
    counts = pool.counts(found.taken)
    return BalancedSubset(
        chosen=np.sort(candidates[chosen]),
        counts=counts,
        supply=pool.supply,
        goal=found.goal,
        level=found.level,
        level_bound=found.level_bound,
        peak=int(counts.max(initial=0)),
        peak_bound=found.peak_bound,
        total=int(counts.sum()),
        total_bound=found.total_bound,
    )


def _candidates(labels: Labels, complete: BoolArray, size: int) -> IntArray:
    if np.shape(complete) != np.shape(labels)[:1]:
        raise ValueError(f"complete has shape {np.shape(complete)}, labels {np.shape(labels)}")
    candidates = np.flatnonzero(complete)
    if not 0 < size <= len(candidates):
        raise ValueError(
            f"asked for {size} balanced studies, but {len(candidates)} of {len(labels)} are complete; "
            "ask for fewer or allow missing sections"
        )
    return candidates


def fair_share(pool: Pool) -> int:
    """Positives a label where the chosen studies are as rich in labels as the pool, evenly spread.

    Args:
        pool: the studies to choose from.

    Returns:
        Positives in the pool x chosen / studies in the pool / labels, rounded down, at least 1.
    """
    studies = max(1, int(pool.available.sum()))
    return max(1, int(pool.supply.sum()) * pool.size // (studies * len(pool.supply)))


def level_of(pool: Pool, taken: IntArray) -> int:
    """The level of a choice: every label has so many studies, or all that there are.

    Args:
        pool: the studies to choose from.
        taken: studies of each label set, shape (P,).

    Returns:
        The least count of a label that has some left over; the largest supply where none has.
    """
    counts = pool.counts(taken)
    short = counts < pool.supply
    return int(counts[short].min() if short.any() else pool.supply.max(initial=0))


def greedy(pool: Pool) -> IntArray:
    """A choice in one pass: the start of the search, and what it falls back on.

    Each step serves the label with the fewest positives so far that can still be served, with the study that
    raises the sum of squared label counts least.

    Args:
        pool: the studies to choose from.

    Returns:
        Studies of each label set, shape (P,).
    """
    taken = np.zeros_like(pool.available)
    counts = np.zeros(pool.patterns.shape[1], dtype=np.int64)  # positives a label so far
    for _ in range(pool.size):
        left = taken < pool.available
        servable = pool.patterns[left].any(axis=0)
        neediest = int(np.argmin(np.where(servable, counts, np.iinfo(np.int64).max)))
        usable = left & (pool.patterns[:, neediest] > 0)
        squares_added = pool.patterns @ (2 * counts + 1)  # sum (n + 1)^2 - n^2 over the labels of the set
        best = int(np.argmin(np.where(usable, squares_added, np.iinfo(np.int64).max)))
        taken[best] += 1
        counts += pool.patterns[best]
    return taken


def _search(pool: Pool, goal: int, nodes: int) -> _Search:
    """The three aims, one within the other; the greedy choice stands where the programs find nothing."""
    if pool.size == pool.available.sum():  # nothing to choose
        counts = pool.supply
        level = int(counts.max(initial=0))
        return _Search(pool.available, level, level, level, level, int(counts.sum()))
    start = greedy(pool)
    goal = min(max(goal, level_of(pool, start)), int(pool.supply.max()))
    level, level_bound, even = _highest_level(pool, level_of(pool, start), goal, nodes)
    taken = start if even.taken is None else even.taken
    counts, total_bound = pool.counts(taken), pool.fewest(level)
    if counts.sum() > total_bound:
        lean = fewest_positives(pool, level, int(counts.max()), nodes)
        total_bound = lean.bound
        if lean.taken is not None and pool.counts(lean.taken).sum() < counts.sum():
            taken = lean.taken
    return _Search(taken, goal, level, level_bound, even.bound, total_bound)


def _highest_level(pool: Pool, least: int, goal: int, nodes: int) -> tuple[int, int, Answer]:
    """The highest level with a choice, the bound on any level, and the most even choice on that level.

    Goes down from where the bound allows: by one where a level is proven out of reach, by ever larger steps
    where the nodes ran out, and ends on the greedy choice's level at the latest.
    """
    bound = level_limit(pool, least)
    level, step = min(goal, bound), 1
    while True:
        answer = lowest_peak(pool, level, nodes)
        if answer.taken is not None or level <= least:
            return level, bound, answer
        if answer.impossible:
            level -= 1
            bound = level
        else:
            level, step = max(level - step, least), 2 * step
