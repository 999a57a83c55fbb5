"""Parts summed group by group, with scores missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from radrl.algorithms.total_reward import clinical_totals, group_totals

NAN = float("nan")
SHAPES = arrays.array_shapes(min_dims=3, max_dims=3, max_side=5)
SCORES = SHAPES.flatmap(
    lambda shape: arrays.arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.1, 0.3, 1.0]))
)
HOLED = SHAPES.flatmap(
    lambda shape: arrays.arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.1, 0.3, NAN]))
)


def test_by_hand() -> None:
    scores = [
        [[1.0, 0.2], [0.5, NAN], [0.0, 0.4]],  # the second counts as 0.3 in the second part
        [[1.0, NAN], [0.5, NAN], [0.0, NAN]],  # nobody has the second part
        [[NAN, NAN], [0.5, 0.5], [NAN, 0.1]],  # the first has nothing, the third counts as 0.5 in the first
    ]
    np.testing.assert_allclose(
        group_totals(scores, [1.0, 2.0]), [[1.4, 1.1, 0.8], [1.0, 0.5, 0.0], [NAN, 1.5, 0.7]]
    )


def test_a_part_without_weight_does_not_save_a_rollout() -> None:
    assert np.isnan(group_totals([[[NAN, 0.5], [1.0, 0.5]]], [1.0, 0.0])[0, 0])


def test_clinical_sum_by_hand() -> None:
    scores = [[[0.5, 0.9, 0.2], [0.0, 0.9, 0.0], [NAN, 0.9, 0.2], [1.0, NAN, 0.1]]]
    found = clinical_totals(scores, [0.75, 0.25, 2.0], [True, False, True])
    np.testing.assert_allclose(found, [[0.775, 0.0, NAN, 0.95]])  # wording neither adds nor misses
    np.testing.assert_allclose(
        clinical_totals(scores, [0.0, 1.0, 1.0], [True, False, True]), [[0.2, 0, 0.2, 0.1]]
    )


@pytest.mark.parametrize(("weights", "clinical"), [([1.0, 1.0], [False, False]), ([0.0, 1.0], [True, False])])
def test_clinical_sum_of_no_clinical_part_is_none(weights: list[float], clinical: list[bool]) -> None:
    assert clinical_totals([[[0.5, 0.9]]], weights, clinical) is None


def test_missing_scores_do_not_break_a_group_without_variance() -> None:
    scores = np.full((1, 7, 2), 0.1)  # seven times 0.1 has a mean that is not 0.1
    scores[0, 3, 1] = NAN
    totals = group_totals(scores, [0.75, 0.25])
    assert (totals == totals[0, 0]).all()


@given(SCORES, st.data())
def test_without_holes_it_is_the_weighted_sum(scores: np.ndarray, data: st.DataObject) -> None:
    weight = st.sampled_from([0.25, 0.75, 1.0])
    weights = data.draw(st.lists(weight, min_size=scores.shape[-1], max_size=scores.shape[-1]))
    assert (group_totals(scores, weights) == (scores * weights).sum(axis=-1)).all()


@given(HOLED, st.sampled_from([-1.0, 0.5, 3.0]))
def test_what_all_have_in_a_part_moves_nobody_against_the_others(scores: np.ndarray, more: float) -> None:
    """Were a missing score 0, a part that is high for all would punish whoever lacks it."""
    weights = np.ones(scores.shape[-1])
    before, after = group_totals(scores, weights), group_totals(scores + more, weights)
    shift = after - before  # (groups, G)
    scored = ~np.isnan(shift)
    assert (scored == ~np.isnan(scores).all(axis=-1)).all()
    for row, there in zip(shift, scored, strict=True):
        assert row[there] == pytest.approx(row[there][:1].repeat(there.sum()))


@pytest.mark.parametrize("score", [0.1, 0.3, 0.6, 0.7, 0.9])
@pytest.mark.parametrize("others", range(2, 14))
def test_rounding_takes_a_missing_score_neither_above_nor_below_the_groups_one(
    score: float, others: int
) -> None:
    # the mean of equal scores is that score: 3 times 0.1 sum to more than 0.3, 10 times to less than 1
    scores = np.array([[[score]] * others + [[np.nan]]])
    # other parts, without which the rollout had no total, and whose scores lie on either side
    padded = np.concatenate([scores, np.ones_like(scores), np.zeros_like(scores)], axis=-1)
    assert group_totals(padded, [1.0, 0.5, 0.5]).tolist() == [[score + 0.5] * (others + 1)]
