"""Groups of rollouts by their rewards, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.training.reinforcement.groups import advantages, numbers, summed_advantages

NAN = float("nan")
EARNED = np.array(
    [
        [0.0, 1.0, 0.0, 1.0],  # two zeros of four
        [0.0, 0.0, 0.0, NAN],  # all three there are
        [1.0, 1.0, 1.0, -1.0],  # a loss is no zero
        [NAN, NAN, NAN, NAN],  # says nothing, so not that all are 0
    ]
)


def test_numbers_by_hand() -> None:
    wording = np.array([[0.0, 0.5, 0.0, 0.5], [0.0, 0.1, 0.2, NAN], [0.0, 0.0, 0.0, 2.0], [NAN] * 4])
    # with wording: 0, 1.5, 0, 1.5; 0, 0.1, 0.2; 1, 1, 1, 1; nothing
    assert numbers(EARNED + wording, EARNED) == pytest.approx(
        {
            "groups/equal_advantage_share": 2 / 4,  # the third and the fourth
            "groups/zero_variance_share": 2 / 4,  # the second and the fourth
            "groups/all_zero_share": 1 / 4,  # the second
            "groups/zero_reward_share": 5 / 11,  # of the rollouts that have a reward
            "groups/unique_rewards": (2 + 1 + 2 + 0) / 4,
        }
    )


def test_rollouts_that_earn_nothing_are_counted_and_not_those_that_earn_one() -> None:
    rewards = np.array([[0.0, 0.0, 0.0, 1.0], [0.5, 0.0, NAN, NAN]])
    assert numbers(rewards, rewards)["groups/zero_reward_share"] == pytest.approx(4 / 6)


def test_a_step_without_a_reward_divides_by_nothing() -> None:
    found = numbers(np.full((2, 3), NAN), np.full((2, 3), NAN))
    assert (found["groups/zero_reward_share"], found["groups/all_zero_share"]) == (0.0, 0.0)


def test_advantages_are_among_those_that_have_a_reward() -> None:
    found = advantages(EARNED, "population")
    # mean 0.5, spread 0.5; equal; mean 0.5, spread sqrt(3) / 2: 0.5 / 0.866 and -1.5 / 0.866
    np.testing.assert_allclose(found[0], [-1, 1, -1, 1], atol=1e-4)
    assert not found[[1, 3]].any()
    np.testing.assert_allclose(found[2], [3**-0.5] * 3 + [-(3**0.5)], atol=1e-4)


def test_advantages_by_part_are_summed_by_weight() -> None:
    # one group; the first part spreads a hundred times as far as the second, and says the opposite
    scores = np.array([[[0.0, 0.03], [1.0, 0.02], [2.0, 0.01]]])
    found = summed_advantages(scores, [0.3, 0.1], "trl")
    first, second = 1 / (1 + 1e-4), 0.01 / (0.01 + 1e-4)  # sample deviations of 1 and 0.01
    expected = 0.3 * np.array([-first, 0, first]) + 0.1 * np.array([second, 0, -second])
    np.testing.assert_allclose(found, [expected], atol=1e-12)
    summed = advantages((scores @ [0.3, 0.1]), "trl")
    assert abs(summed[0, 2] - found[0, 2]) > 0.5


def test_a_missing_score_has_no_say_in_its_part_and_the_other_parts_count() -> None:
    scores = np.array([[[0.0, 1.0], [np.nan, 3.0], [2.0, 5.0]]])
    found = summed_advantages(scores, [1.0, 1.0], "population")
    first, second = np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.0, 1.0]) * 2 / np.sqrt(8 / 3)
    np.testing.assert_allclose(found, [first + second], atol=1e-7)
    np.testing.assert_array_equal(summed_advantages(np.full((1, 3, 2), np.nan), [1.0, 1.0], "trl"), [[0] * 3])


def test_a_group_may_teach_by_its_parts_though_its_sums_are_equal() -> None:
    scores = np.array([[[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]])
    totals = scores.sum(-1)
    found = summed_advantages(scores, [1.0, 2.0], "trl")
    assert numbers(totals, totals)["groups/equal_advantage_share"] == 1.0
    assert numbers(totals, totals, found)["groups/equal_advantage_share"] == 0.0
