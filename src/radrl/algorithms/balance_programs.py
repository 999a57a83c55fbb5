"""The integer programs behind `radrl.algorithms.balanced`: how many studies of each label set to take.

Studies with the same labels are alike, so the unknowns are whole numbers x_p, 0 <= x_p <= n_p, one a distinct
label set p and not one a study: at most 2^C of them, a few thousand in real corpora. HiGHS (through SciPy)
solves the programs by branch and bound, limited by nodes and never by time. Whole numbers it hands back are
checked in integer arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from radrl.algorithms.f_measure import FloatArray, IntArray

NODES: Final = 2000
"""Nodes of branch and bound a program may take."""

TOLERANCE: Final = 1e-6
"""Of HiGHS: how far a constraint may be off."""

_WEIGHTS: Final = 10**6  # to which the weights of a certificate are rounded
_INFEASIBLE: Final = 2  # scipy.optimize.milp's status


@dataclass(frozen=True, slots=True)
class Pool:
    """The studies to choose from, by label set.

    Args:
        patterns: the P distinct label sets, 1 where a label is positive, none of them empty, shape (P, C).
        available: studies that have each, shape (P,).
        size: how many studies to choose.
    """

    patterns: IntArray
    available: IntArray
    size: int

    @property
    def supply(self) -> IntArray:
        """Studies a label in the pool, shape (C,)."""
        return self.counts(self.available)

    def counts(self, taken: IntArray) -> IntArray:
        """Studies a label in a choice.

        Args:
            taken: studies of each label set, shape (P,).

        Returns:
            Counts, shape (C,).
        """
        counts: IntArray = taken @ self.patterns
        return counts

    def floors(self, level: int) -> IntArray:
        """What each label must reach on a level, shape (C,)."""
        return np.minimum(level, self.supply)

    def fewest(self, level: int) -> int:
        """Positives that a choice on a level has at least: the floors, and one a study."""
        return max(int(self.floors(level).sum()), self.size)


@dataclass(frozen=True, slots=True)
class Answer:
    """What branch and bound found.

    Args:
        taken: the best choice found, shape (P,), or nothing.
        bound: no choice has a smaller objective.
        impossible: proven that there is no choice.
    """

    taken: IntArray | None
    bound: int
    impossible: bool


def level_limit(pool: Pool, least: int) -> int:
    """A level that no choice exceeds, proven in integer arithmetic.

    The linear relaxation tells the first level out of its reach, and its dual values weigh the labels: with
    any weights w >= 0, a choice of level t has sum_c w_c min(t, supply_c) <= sum_p x_p w(p), w(p) being the
    weight of label set p, and the right side is at most that of the `size` studies that weigh most. The
    weights are rounded to integers (`limit_by_weights`), so the proof holds whatever the solver's rounding.

    Args:
        pool: the studies to choose from.
        least: a level known to be in reach.

    Returns:
        The largest level that the weights do not exclude.
    """
    highest = min(int(pool.supply.max()), pool.size)
    low, high = least, highest
    while low < high:
        middle = (low + high + 1) // 2
        missing, _ = _relaxed(pool, middle)
        low, high = (middle, high) if missing <= TOLERANCE else (low, middle - 1)
    if low >= highest:
        return highest
    _, duals = _relaxed(pool, low + 1)
    return max(least, limit_by_weights(pool, np.rint(duals * _WEIGHTS).astype(np.int64)))


def limit_by_weights(pool: Pool, weights: IntArray) -> int:
    """The largest level that weights of the labels do not exclude; integers all the way.

    Args:
        pool: the studies to choose from.
        weights: any, not negative, shape (C,).

    Returns:
        The largest t with sum_c w_c min(t, supply_c) at most the weight of the `size` heaviest studies.
    """
    values = pool.patterns @ weights
    order = np.argsort(-values, kind="stable")
    before = np.cumsum(pool.available[order]) - pool.available[order]
    counted = np.clip(pool.size - before, 0, pool.available[order])
    heaviest = int(counted @ values[order])
    low, high = 0, int(pool.supply.max())
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if int(weights @ pool.floors(middle)) <= heaviest else (low, middle - 1)
    return low


def lowest_peak(pool: Pool, level: int, nodes: int = NODES) -> Answer:
    """The choice on a level whose most frequent label is least frequent.

    minimise u  such that  min(level, supply_c) <= sum_p x_p a_pc <= u for every label, sum_p x_p = size

    Args:
        pool: the studies to choose from.
        level: what each label must reach, or its whole supply.
        nodes: limit of branch and bound.

    Returns:
        The choice and a bound on u.
    """
    sets, labels = pool.patterns.shape
    rows = np.vstack(
        [
            np.hstack([pool.patterns.T, np.zeros((labels, 1))]),
            np.hstack([pool.patterns.T, -np.ones((labels, 1))]),
            np.append(np.ones(sets), 0),
        ]
    )
    floors = pool.floors(level)
    low = np.concatenate([floors, np.full(labels, -np.inf), [pool.size]])
    high = np.concatenate([np.full(labels, np.inf), np.zeros(labels), [pool.size]])
    bounds = Bounds(np.append(np.zeros(sets), floors.max()), np.append(pool.available, pool.size))
    cost = np.append(np.zeros(sets), 1)
    found = _solve(pool, level, cost, LinearConstraint(rows, low, high), bounds, nodes)
    return replace(found, bound=max(found.bound, int(floors.max())))


def fewest_positives(pool: Pool, level: int, peak: int, nodes: int = NODES) -> Answer:
    """The choice on a level, with no label above the peak, that has the fewest positives in all.

    Args:
        pool: the studies to choose from.
        level: what each label must reach, or its whole supply.
        peak: what no label may exceed.
        nodes: limit of branch and bound.

    Returns:
        The choice and a bound on the positives.
    """
    sets, labels = pool.patterns.shape
    rows = np.vstack([pool.patterns.T, np.ones(sets)])
    low = np.append(pool.floors(level), pool.size)
    high = np.append(np.full(labels, peak), pool.size)
    cost = pool.patterns.sum(axis=1)
    bounds = Bounds(np.zeros(sets), pool.available)
    found = _solve(pool, level, cost, LinearConstraint(rows, low, high), bounds, nodes)
    return replace(found, bound=max(found.bound, pool.fewest(level)))


def _relaxed(pool: Pool, level: int) -> tuple[float, FloatArray]:
    """Positives that are missing on a level when studies may be split, and the labels' dual values, (C,)."""
    sets, labels = pool.patterns.shape
    found: Any = linprog(
        np.append(np.zeros(sets), np.ones(labels)),
        A_ub=-np.hstack([pool.patterns.T, np.eye(labels)]),
        b_ub=-pool.floors(level),
        A_eq=np.append(np.ones(sets), np.zeros(labels))[None],
        b_eq=[pool.size],
        bounds=np.column_stack([np.zeros(sets + labels), np.append(pool.available, np.full(labels, np.inf))]),
        method="highs",
    )
    if not found.success:
        raise RuntimeError(f"the linear relaxation of level {level} was not solved: {found.message}")
    return float(found.fun), np.maximum(-found.ineqlin.marginals, 0)


def _solve(
    pool: Pool, level: int, cost: Any, constraint: LinearConstraint, bounds: Bounds, nodes: int
) -> Answer:
    found: Any = milp(
        cost,
        integrality=np.ones(len(cost)),
        bounds=bounds,
        constraints=constraint,
        options={"node_limit": nodes, "mip_rel_gap": 0.0},
    )
    bound = found.mip_dual_bound
    least = 0 if bound is None or not math.isfinite(bound) else math.ceil(bound - TOLERANCE)
    taken = None if found.x is None else np.rint(found.x[: len(pool.patterns)]).astype(np.int64)
    if taken is not None and not _keeps(pool, level, taken):
        taken = None
    return Answer(taken, least, found.status == _INFEASIBLE)


def _keeps(pool: Pool, level: int, taken: IntArray) -> bool:
    """Whether rounding to whole studies left the choice on its level."""
    within = bool(np.all((taken >= 0) & (taken <= pool.available)))
    reached = bool(np.all(pool.counts(taken) >= pool.floors(level)))
    return within and reached and int(taken.sum()) == pool.size
