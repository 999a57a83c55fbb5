"""A label-balanced subset of complete studies: OraPO's training data (its section on data sets).

The paper takes 1,000 studies with a balanced label set, leaves out reports with a missing section, and
does not say how it balances. Here the subset is built greedily for max-min balance: each step serves
the label with the fewest positives so far that can still be served, with the study that raises the sum of
squared label counts least. So rare labels get as many studies as they can, and common labels do not ride
along. Greedy, hence not proven optimal; a study's labels come together, so exact equality is in general
out of reach.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from radrl.algorithms.f_measure import BoolArray, Labels, positives
from radrl.algorithms.log_rank import IntArray


def balanced_subset(
    labels: Labels, complete: BoolArray, size: int, *, seed: int, uncertain_as_positive: bool = False
) -> IntArray:
    """Choose studies whose positive labels are as evenly spread as the data allow.

    Studies without any positive label balance nothing and are taken only when no other is left.

    Args:
        labels: class indices of the N reference reports, shape (N, C).
        complete: whether a study has every section, shape (N,).
        size: number of studies to choose.
        seed: decides between studies with the same labels and between equally good label sets.
        uncertain_as_positive: the reading of uncertain labels.

    Returns:
        Indices of the chosen studies, ascending, shape (size,).

    Raises:
        ValueError: when the shapes do not fit or there are fewer complete studies than asked for.
    """
    if np.shape(complete) != np.shape(labels)[:1]:
        raise ValueError(f"complete has shape {np.shape(complete)}, labels {np.shape(labels)}")
    candidates = np.flatnonzero(complete)
    if not 0 < size <= len(candidates):
        raise ValueError(
            f"asked for {size} balanced studies, but {len(candidates)} of {len(labels)} are complete; "
            "ask for fewer or allow missing sections"
        )
    candidates = np.random.default_rng(seed).permutation(candidates)
    positive = positives(np.asarray(labels)[candidates], uncertain_as_positive=uncertain_as_positive)
    patterns, members = _group_by_pattern(positive)
    taken = _balance(patterns, np.array([len(group) for group in members]), size)
    chosen = [candidates[group[:count]] for group, count in zip(members, taken, strict=True)]
    return np.sort(np.concatenate(chosen))


def _group_by_pattern(positive: BoolArray) -> tuple[IntArray, Sequence[IntArray]]:
    """Distinct label sets, shape (P, C), in order of first appearance, and the rows that have each.

    Real corpora hold few distinct label sets, so balancing sets instead of studies keeps each step cheap.
    """
    _, first, inverse = np.unique(positive, axis=0, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    group_of = place[inverse.reshape(-1)]
    members = np.split(np.argsort(group_of, kind="stable"), np.cumsum(np.bincount(group_of))[:-1])
    return positive[np.sort(first)].astype(np.int64), members


def _balance(patterns: IntArray, available: IntArray, size: int) -> IntArray:
    """How many studies of each label set to take, shape (P,)."""
    taken = np.zeros_like(available)
    counts = np.zeros(patterns.shape[1], dtype=np.int64)  # positives a label so far
    for _ in range(size):
        left = taken < available
        servable = patterns[left].any(axis=0)
        usable = left
        if servable.any():
            neediest = int(np.argmin(np.where(servable, counts, np.iinfo(np.int64).max)))
            usable = left & (patterns[:, neediest] > 0)
        squares_added = patterns @ (2 * counts + 1)  # sum (n + 1)^2 - n^2 over the labels of the set
        best = int(np.argmin(np.where(usable, squares_added, np.iinfo(np.int64).max)))
        taken[best] += 1
        counts += patterns[best]
    return taken
