import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.algorithms.ddsampling import (
    diversity_ranks,
    draw_log_rank,
    log_rank_probabilities,
    mass_of_top,
    take_top,
)


def test_probabilities_by_hand():
    # 1/ln 2 = 1.442695, 1/ln 3 = 0.910239
    np.testing.assert_allclose(
        log_rank_probabilities(2), [1.442695 / 2.352934, 0.910239 / 2.352934], rtol=1e-6
    )


def test_probabilities_agree_with_the_vectors(rl_math):
    for studies, expected in rl_math["ddsampling"]["log_rank_probs"].items():
        np.testing.assert_allclose(log_rank_probabilities(int(studies)), expected, rtol=1e-12)


@given(st.integers(1, 5000))
def test_probabilities_sum_to_1_and_fall_with_rank(studies):
    probability = log_rank_probabilities(studies)
    assert probability.sum() == pytest.approx(1)
    assert np.all(probability > 0)
    assert np.all(np.diff(probability) < 0)


def test_ranks_fall_with_diversity():
    ranks = diversity_ranks(np.array([0.1, 3.0, 0.0, 2.0]), np.random.default_rng(0))
    assert ranks.tolist() == [3, 1, 4, 2]


def test_ties_follow_the_seed_and_not_the_index():
    first = [diversity_ranks(np.zeros(4), np.random.default_rng(seed))[0] for seed in range(60)]
    assert set(first) == {1, 2, 3, 4}


def test_ranks_name_a_broken_diversity():
    with pytest.raises(ValueError, match="study 1 is nan"):
        diversity_ranks(np.array([0.0, np.nan]), np.random.default_rng(0))


def test_draw_is_without_replacement_seeded_and_of_the_asked_size():
    diversity = np.linspace(0, 3, 50)
    draw = draw_log_rank(diversity, fraction=0.2, seed=3)
    assert len(set(draw.drawn.tolist())) == 10
    np.testing.assert_array_equal(draw.drawn, draw_log_rank(diversity, fraction=0.2, seed=3).drawn)
    assert draw.drawn.tolist() != draw_log_rank(diversity, fraction=0.2, seed=4).drawn.tolist()
    assert draw.probability[np.argmax(diversity)] == draw.probability.max()
    np.testing.assert_allclose(draw.probability.sum(), 1)


def test_draw_of_everything_is_everything():
    assert sorted(draw_log_rank(np.arange(7.0), fraction=1.0, seed=0).drawn.tolist()) == list(range(7))


def test_draws_follow_successive_sampling():
    """Share of each ordered pair of 3 studies against p_i * p_j / (1 - p_i)."""
    diversity = np.array([3.0, 2.0, 1.0])
    p = log_rank_probabilities(3)
    pairs = [tuple(draw_log_rank(diversity, fraction=2 / 3, seed=s).drawn.tolist()) for s in range(4000)]
    for i, j in itertools.permutations(range(3), 2):
        expected = p[i] * p[j] / (1 - p[i])
        assert pairs.count((i, j)) / 4000 == pytest.approx(expected, abs=4 * np.sqrt(expected / 4000))


@pytest.mark.parametrize(("fraction", "seed"), [(0.2, 0), (0.5, 1), (1.0, 2), (1e-3, 3)])
def test_top_is_the_first_by_rank_and_as_many_as_are_drawn(fraction, seed):
    diversity = np.array([0.0, 0.5, 0.5, 1.0, 0.5, 0.0, 0.5, 0.7])
    draw = draw_log_rank(diversity, fraction=fraction, seed=seed)
    top = take_top(diversity, fraction=fraction, seed=seed)
    assert draw.rank[top].tolist() == list(range(1, len(draw.drawn) + 1))


def test_mass_of_the_top_by_hand():
    # five studies, the top 40 %: (1/ln 2 + 1/ln 3) of 1/ln 2 + ... + 1/ln 6
    assert mass_of_top(5, fraction=0.4) == pytest.approx(
        2.352934 / (2.352934 + 0.721348 + 0.621335 + 0.558111)
    )
    assert mass_of_top(5, fraction=1.0) == pytest.approx(1)


def test_top_fifth_of_mimic_cxr_has_hardly_more_than_a_fifth_of_the_draw():
    """DEER, table 7 and eq. 5: at 270,790 films."""
    assert mass_of_top(270_790, fraction=0.2) == pytest.approx(0.23, abs=0.005)


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.1])
def test_top_refuses_what_is_no_share(fraction):
    with pytest.raises(ValueError, match="fraction"):
        take_top(np.zeros(3), fraction=fraction, seed=0)


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.1])
def test_draw_refuses_what_is_no_share(fraction):
    with pytest.raises(ValueError, match="fraction"):
        draw_log_rank(np.zeros(3), fraction=fraction, seed=0)


def test_draw_refuses_an_empty_corpus():
    with pytest.raises(ValueError, match="0 studies"):
        draw_log_rank(np.zeros(0), fraction=0.5, seed=0)


@pytest.mark.parametrize(
    ("studies", "fraction", "count"),
    [
        (10, 0.29, 3),
        (10, 0.21, 2),
        (7, 0.5, 4),
        (9, 0.5, 4),
        (3, 0.01, 1),
    ],  # 2.9, 2.1, 3.5, 4.5 (to even), 0.03
)
def test_a_share_of_the_studies_is_rounded_and_at_least_one(studies, fraction, count):
    diversity = np.arange(float(studies))
    assert len(draw_log_rank(diversity, fraction=fraction, seed=0).drawn) == count
    assert len(take_top(diversity, fraction=fraction, seed=0)) == count
    top = log_rank_probabilities(studies)[:count]
    assert mass_of_top(studies, fraction=fraction) == pytest.approx(top.sum())
