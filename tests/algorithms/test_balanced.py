import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.algorithms.balanced import balanced_subset


def test_evens_out_a_long_tail():
    labels = np.repeat(np.eye(3, dtype=int), [80, 15, 5], axis=0)  # (100, 3), one label a study
    chosen = balanced_subset(labels, np.ones(100, bool), 15, seed=0)
    assert labels[chosen].sum(axis=0).tolist() == [5, 5, 5]


def test_a_label_that_runs_out_gives_way_to_the_others():
    labels = np.repeat(np.eye(3, dtype=int), [80, 15, 2], axis=0)
    chosen = balanced_subset(labels, np.ones(97, bool), 12, seed=0)
    assert labels[chosen].sum(axis=0).tolist() == [5, 5, 2]


def test_prefers_the_study_that_adds_no_common_label():
    labels = np.array([[1, 0], [1, 0], [1, 1], [0, 1]])
    assert balanced_subset(labels, np.ones(4, bool), 2, seed=0).tolist()[-1] == 3


def test_takes_only_complete_studies():
    labels = np.eye(4, dtype=int)
    complete = np.array([True, False, True, True])
    assert balanced_subset(labels, complete, 3, seed=0).tolist() == [0, 2, 3]


def test_takes_studies_without_a_label_last():
    labels = np.array([[0, 0], [1, 0], [2, 0], [0, 1]])
    complete = np.ones(4, bool)
    assert balanced_subset(labels, complete, 2, seed=0).tolist() == [1, 3]
    assert balanced_subset(labels, complete, 4, seed=0).tolist() == [0, 1, 2, 3]


def test_reads_uncertain_as_told():
    labels = np.array([[3, 0], [1, 0], [1, 0], [0, 1]])
    picks = [balanced_subset(labels, np.ones(4, bool), 2, seed=s).tolist() for s in range(20)]
    assert all(0 not in pick for pick in picks)
    both = [
        balanced_subset(labels, np.ones(4, bool), 2, seed=s, uncertain_as_positive=True).tolist()
        for s in range(20)
    ]
    assert any(0 in pick for pick in both)


def test_says_how_many_are_complete():
    with pytest.raises(ValueError, match=r"asked for 3 .* but 2 of 4 are complete"):
        balanced_subset(np.zeros((4, 14), int), np.array([True, True, False, False]), 3, seed=0)


def test_refuses_unpaired_inputs():
    with pytest.raises(ValueError, match=r"\(2,\).*\(4, 14\)"):
        balanced_subset(np.zeros((4, 14), int), np.ones(2, bool), 1, seed=0)


@given(st.integers(0, 2**16), st.integers(1, 40))
def test_indices_are_distinct_ascending_and_seeded(seed, size):
    rng = np.random.default_rng(seed)
    labels = (rng.random((60, 14)) < np.geomspace(0.5, 0.02, 14)).astype(int)
    complete = rng.permutation(np.arange(60) < 45)
    chosen = balanced_subset(labels, complete, size, seed=seed)
    assert len(chosen) == size
    assert np.all(np.diff(chosen) > 0)
    assert complete[chosen].all()
    np.testing.assert_array_equal(chosen, balanced_subset(labels, complete, size, seed=seed))


def test_is_more_even_than_chance_on_a_long_tail():
    rng = np.random.default_rng(1)
    labels = (rng.random((2000, 14)) < np.geomspace(0.4, 0.01, 14)).astype(int)
    chosen = balanced_subset(labels, np.ones(2000, bool), 200, seed=1)
    rarest = labels[chosen].sum(axis=0).min()
    by_chance = labels[rng.choice(2000, 200, replace=False)].sum(axis=0).min()
    assert rarest >= min(14, labels.sum(axis=0).min()) > by_chance
