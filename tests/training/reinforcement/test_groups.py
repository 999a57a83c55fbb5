"""Groups of rollouts by their rewards, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.training.reinforcement.groups import advantages, numbers

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
