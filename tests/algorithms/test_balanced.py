"""The balanced subset against hand-made corpora, every choice there is, and the greedy one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from radrl.algorithms import balanced
from radrl.algorithms.balance_programs import (
    Answer,
    Pool,
    fewest_positives,
    level_limit,
    limit_by_weights,
    lowest_peak,
)
from radrl.algorithms.balanced import balanced_subset, fair_share, greedy, level_of

AS_HIGH_AS_POSSIBLE = 10**6


def everything(labels):
    return np.ones(len(labels), bool)


def pool_of(labels, size):
    patterns, available = np.unique(labels[labels.any(axis=1)], axis=0, return_counts=True)
    return Pool(patterns, available, size)


def long_tail(studies, seed, labels=14):
    rng = np.random.default_rng(seed)
    return (rng.random((studies, labels)) < np.geomspace(0.5, 0.02, labels)).astype(int)


@st.composite
def small_corpora(draw):
    """At most 9 studies with 2 to 4 labels, some without any, and how many to choose."""
    labels = draw(st.integers(2, 4))
    row = st.lists(st.integers(0, 1), min_size=labels, max_size=labels)
    rows = draw(st.lists(row, min_size=2, max_size=9))
    return np.array(rows), draw(st.integers(1, len(rows)))


def best_by_trying(labels, size, goal):
    """Level, peak and total of the best of all choices of labelled studies; and leximin's counts."""
    labelled = np.flatnonzero(labels.any(axis=1))
    supply, size = labels.sum(axis=0), min(size, len(labelled))
    every = [labels[list(rows)].sum(axis=0) for rows in combinations(labelled, size)]
    levels = range(min(goal, supply.max()) + 1)
    level = max(t for t in levels if any((counts >= np.minimum(t, supply)).all() for counts in every))
    on_level = [counts for counts in every if (counts >= np.minimum(level, supply)).all()]
    peak = min(counts.max() for counts in on_level)
    total = min(counts.sum() for counts in on_level if counts.max() == peak)
    return (level, peak, total), max(sorted(counts.tolist()) for counts in every)


@settings(deadline=None)
@given(small_corpora(), st.sampled_from([0, 1, 2, AS_HIGH_AS_POSSIBLE]))
def test_no_choice_is_better(corpus, goal):
    labels, size = corpus
    found = balanced_subset(labels, everything(labels), size, seed=0, goal=goal)
    best, _ = best_by_trying(labels, size, found.goal)
    assert (found.level, found.peak, found.total) == best
    assert found.proven


@settings(deadline=None)
@given(small_corpora())
def test_agrees_with_leximin_up_to_the_first_label_that_is_not_used_up(corpus):
    labels, size = corpus
    found = balanced_subset(labels, everything(labels), size, seed=0, goal=AS_HIGH_AS_POSSIBLE)
    _, leximin = best_by_trying(labels, size, found.goal)
    used_up = int((found.supply < found.level).sum())
    assert sorted(found.counts.tolist())[: used_up + 1] == leximin[: used_up + 1]


@settings(deadline=None)
@given(small_corpora(), st.lists(st.integers(0, 5), min_size=4, max_size=4))
def test_bounds_on_the_level_hold_for_every_choice(corpus, weights):
    labels, size = corpus
    pool = pool_of(labels, min(size, int(labels.any(axis=1).sum())))
    assume(pool.size > 0)
    (level, _, _), _ = best_by_trying(labels, size, AS_HIGH_AS_POSSIBLE)
    assert limit_by_weights(pool, np.array(weights[: labels.shape[1]])) >= level
    if pool.size < pool.available.sum():
        assert level_limit(pool, 0) >= level


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**16), st.integers(1, 150), st.sampled_from([None, 0, AS_HIGH_AS_POSSIBLE]))
def test_rarest_label_never_has_fewer_than_by_greedy_choice(seed, size, goal):
    labels = long_tail(200, seed)
    pool = pool_of(labels, min(size, int(labels.any(axis=1).sum())))
    by_greedy = pool.counts(greedy(pool))
    found = balanced_subset(labels, everything(labels), size, seed=seed, goal=goal)
    assert found.counts.min() >= by_greedy.min()
    assert found.level >= level_of(pool, greedy(pool))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**16), st.integers(1, 40))
def test_indices_are_distinct_ascending_complete_and_seeded(seed, size):
    labels = long_tail(60, seed)
    complete = np.random.default_rng(seed).permutation(np.arange(60) < 45)
    found = balanced_subset(labels, complete, size, seed=seed)
    assert len(found.chosen) == size
    assert np.all(np.diff(found.chosen) > 0)
    assert complete[found.chosen].all()
    assert labels[found.chosen].sum(axis=0).tolist() == found.counts.tolist()
    assert labels[complete].sum(axis=0).tolist() == found.supply.tolist()
    again = balanced_subset(labels, complete, size, seed=seed)
    np.testing.assert_array_equal(found.chosen, again.chosen)


def test_seed_and_file_order_change_members_but_no_count():
    labels = long_tail(2000, seed=1)
    found = [balanced_subset(labels, everything(labels), 200, seed=seed) for seed in (0, 1)]
    assert found[0].chosen.tolist() != found[1].chosen.tolist()
    shuffled = np.random.default_rng(2).permutation(labels)
    found.append(balanced_subset(shuffled, everything(labels), 200, seed=0))
    assert len({tuple(one.counts.tolist()) for one in found}) == 1


def test_evens_out_a_long_tail():
    labels = np.repeat(np.eye(3, dtype=int), [80, 15, 5], axis=0)  # (100, 3), one label a study
    found = balanced_subset(labels, everything(labels), 15, seed=0)
    assert found.counts.tolist() == [5, 5, 5]
    assert (found.goal, found.level, found.level_bound) == (5, 5, 5)  # 100 positives x 15 / 100 / 3


def test_a_label_that_runs_out_gives_way_to_the_others():
    labels = np.repeat(np.eye(3, dtype=int), [80, 15, 2], axis=0)
    found = balanced_subset(labels, everything(labels), 12, seed=0)
    assert found.counts.tolist() == [5, 5, 2]
    assert (found.level, found.level_bound) == (5, 5)  # above the fair share of 4: the greedy choice has it


def test_prefers_the_studies_that_add_no_common_label():
    labels = np.array([[1, 0], [1, 0], [1, 1], [0, 1]])
    found = balanced_subset(labels, everything(labels), 2, seed=0)
    assert (found.level, found.peak, found.total) == (1, 1, 2)
    assert 2 not in found.chosen


def test_leaves_a_greedy_dead_end():
    # greedy takes {A}, {B} and {C}, one each; three of {A, B, C} give each label three
    labels = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
    highest = balanced_subset(labels, everything(labels), 3, seed=0, goal=AS_HIGH_AS_POSSIBLE)
    assert highest.counts.tolist() == [3, 3, 3]
    # the pool's 12 positives in 6 studies, as rich for 3, over 3 labels: two each
    share = balanced_subset(labels, everything(labels), 3, seed=0)
    assert share.goal == 2
    assert share.level == 2


def test_takes_only_complete_studies():
    labels = np.eye(4, dtype=int)
    complete = np.array([True, False, True, True])
    assert balanced_subset(labels, complete, 3, seed=0).chosen.tolist() == [0, 2, 3]


def test_takes_studies_without_a_label_last():
    labels = np.array([[0, 0], [1, 0], [2, 0], [0, 1]])
    for size, chosen in ((2, [1, 3]), (4, [0, 1, 2, 3])):
        found = balanced_subset(labels, everything(labels), size, seed=0)
        assert found.chosen.tolist() == chosen
        assert found.proven
    assert {1, 3} < {*balanced_subset(labels, everything(labels), 3, seed=0).chosen.tolist()}


def test_takes_any_studies_where_none_has_a_label():
    found = balanced_subset(np.zeros((5, 14), int), np.ones(5, bool), 2, seed=0)
    assert len(found.chosen) == 2
    assert (found.level, found.peak, found.total, found.proven) == (0, 0, 0, True)


def test_reads_uncertain_as_told():
    labels = np.array([[3, 0], [1, 0], [1, 0], [0, 1]])
    picks = [balanced_subset(labels, everything(labels), 2, seed=s).chosen.tolist() for s in range(20)]
    assert all(0 not in pick for pick in picks)
    both = [
        balanced_subset(labels, everything(labels), 2, seed=s, uncertain_as_positive=True).chosen.tolist()
        for s in range(20)
    ]
    assert any(0 in pick for pick in both)


def test_cut_short_it_never_claims_too_much():
    labels = np.random.default_rng(0).integers(0, 2, (400, 14))
    full, cut = (
        balanced_subset(labels, everything(labels), 60, seed=0, goal=AS_HIGH_AS_POSSIBLE, nodes=nodes)
        for nodes in (2000, 0)
    )
    assert full.proven
    assert cut.level <= full.level <= cut.level_bound
    assert cut.peak_bound <= cut.peak
    assert cut.total_bound <= cut.total


def test_hands_on_the_greedy_choice_and_its_gap_where_the_programs_find_none(monkeypatch):
    labels = np.random.default_rng(0).integers(0, 2, (400, 14))
    pool = pool_of(labels, 60)
    full = balanced_subset(labels, everything(labels), 60, seed=0, goal=AS_HIGH_AS_POSSIBLE)
    for program in ("lowest_peak", "fewest_positives"):
        monkeypatch.setattr(balanced, program, lambda *_: Answer(None, 1, False))
    cut = balanced_subset(labels, everything(labels), 60, seed=0, goal=AS_HIGH_AS_POSSIBLE)
    assert cut.counts.tolist() == pool.counts(greedy(pool)).tolist()
    assert cut.level == level_of(pool, greedy(pool)) < full.level <= cut.level_bound
    assert not cut.proven


def test_says_that_a_level_cannot_be_had():
    pool = Pool(np.eye(3, dtype=int), np.array([5, 5, 5]), 6)  # two each, and no study to spare
    assert lowest_peak(pool, 3).impossible
    assert lowest_peak(pool, 2).taken.tolist() == [2, 2, 2]
    assert fewest_positives(pool, 2, peak=2).bound == 6
    assert level_limit(pool, 0) == 2


def test_fair_share_is_the_pools_density_spread_evenly():
    pool = Pool(np.array([[1, 1, 0], [0, 0, 1]]), np.array([10, 5]), 6)  # 25 positives in 15 studies
    assert fair_share(pool) == 3  # 10 for 6 studies, over 3 labels


def test_says_how_many_are_complete():
    with pytest.raises(ValueError, match=r"asked for 3 .* but 2 of 4 are complete"):
        balanced_subset(np.zeros((4, 14), int), np.array([True, True, False, False]), 3, seed=0)


def test_refuses_unpaired_inputs():
    with pytest.raises(ValueError, match=r"\(2,\).*\(4, 14\)"):
        balanced_subset(np.zeros((4, 14), int), np.ones(2, bool), 1, seed=0)


def test_is_more_even_than_chance_on_a_long_tail():
    labels = long_tail(2000, seed=1)
    found = balanced_subset(labels, everything(labels), 200, seed=1)
    by_chance = labels[np.random.default_rng(1).choice(2000, 200, replace=False)].sum(axis=0).min()
    assert found.counts.min() >= 14 > by_chance


def test_greedy_adds_the_fewest_squares():
    """A label of n studies adds (n + 1)^2 - n^2 = 2 n + 1; the neediest is the first label without one."""
    # first {B}, 1, before {A, B}, 2; then for A: {A, B} adds 3 + 1, {A, C, D} 3 times 1
    sets = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [1, 0, 0, 0]])  # over B, A, C, D
    assert greedy(Pool(sets, np.array([1, 1, 1]), 2)).tolist() == [0, 1, 1]
    # {A, B} adds 3 + 1, {A, C, D, E} 4 times 1: as much, and the first of the two is taken
    sets = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 1, 1], [1, 0, 0, 0, 0]])  # over B, A, C, D, E
    assert greedy(Pool(sets, np.array([1, 1, 1]), 2)).tolist() == [1, 0, 1]


def test_levels_are_left_by_ever_larger_steps_where_the_nodes_run_out(monkeypatch):
    labels = np.repeat(np.eye(2, dtype=int), 30, axis=0)  # (60, 2)
    asked = []

    def without_an_answer(pool, level, nodes):
        asked.append(level)
        return Answer(None, 1, False)

    monkeypatch.setattr(balanced, "level_limit", lambda pool, least: 20)
    monkeypatch.setattr(balanced, "lowest_peak", without_an_answer)
    found = balanced_subset(labels, everything(labels), 4, seed=0, goal=AS_HIGH_AS_POSSIBLE)
    # 1, 2, 4 and 8 down from the bound, and not below the greedy choice's two studies a label
    assert asked == [20, 19, 17, 13, 5, 2]
    assert (found.counts.tolist(), found.level, found.level_bound) == ([2, 2], 2, 20)


def test_levels_that_cannot_be_had_are_left_one_by_one_and_lower_the_bound(monkeypatch):
    labels = np.repeat(np.eye(2, dtype=int), 30, axis=0)
    asked = []

    def out_of_reach(pool, level, nodes):
        asked.append(level)
        return Answer(None, 1, True)

    monkeypatch.setattr(balanced, "level_limit", lambda pool, least: 6)
    monkeypatch.setattr(balanced, "lowest_peak", out_of_reach)
    found = balanced_subset(labels, everything(labels), 4, seed=0, goal=AS_HIGH_AS_POSSIBLE)
    assert asked == [6, 5, 4, 3, 2]
    assert (found.level, found.level_bound) == (2, 2)


def test_studies_with_the_same_labels_are_taken_in_the_order_of_the_seeds_shuffle():
    labels = np.zeros((60, 3), np.int64)
    labels[:40, 0] = 1  # one label set, and 20 studies without a label
    found = balanced_subset(labels, np.ones(60, bool), 25, seed=4)
    order = np.random.default_rng(4).permutation(60)
    assert found.chosen.tolist() == sorted(order[order < 40][:25].tolist())
