import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from radrl.algorithms.advantages import (
    group_relative_advantages,
    zero_variance_groups,
    zero_variance_share,
)

REWARDS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 8)),
    elements=st.floats(0, 1).map(lambda r: round(r, 3)),
)
CONVENTIONS = ["trl", "population", "none"]


def test_by_hand():
    rewards = np.array([[1.0, 0.0, 0.0, 1.0]])  # mean 1/2, population std 1/2, sample std sqrt(1/3)
    np.testing.assert_allclose(
        group_relative_advantages(rewards, convention="none"), [[0.5, -0.5, -0.5, 0.5]]
    )
    np.testing.assert_allclose(
        group_relative_advantages(rewards, convention="population", eps=0.0), [[1.0, -1.0, -1.0, 1.0]]
    )
    np.testing.assert_allclose(
        group_relative_advantages(rewards, convention="trl")[0, 0], 0.5 / (np.sqrt(1 / 3) + 1e-4)
    )


def test_agrees_with_the_vectors(rl_math):
    names = {"trl": "trl", "population": "pop_eps_in_sqrt", "none": "dr_grpo"}
    for case in rl_math["grpo_advantages"]:
        rewards = np.array(case["rewards"], float)
        for convention, key in names.items():
            found = group_relative_advantages(rewards, convention=convention)
            np.testing.assert_allclose(found, case[key], rtol=1e-10, atol=1e-12)
        plain = group_relative_advantages(rewards, convention="population", eps=0.0)
        np.testing.assert_allclose(plain, case["pop_plain"], rtol=1e-10, atol=1e-12)


@given(REWARDS, st.sampled_from(CONVENTIONS))
def test_a_group_sums_to_0_and_keeps_the_order_of_rewards(rewards, convention):
    advantages = group_relative_advantages(rewards, convention=convention)
    np.testing.assert_allclose(advantages.sum(axis=-1), 0, atol=1e-9)
    for group, found in zip(rewards, advantages, strict=True):
        assert np.all(np.diff(found[np.argsort(group, kind="stable")]) >= -1e-12)


@given(st.floats(-10, 10), st.integers(1, 9), st.sampled_from(CONVENTIONS))
def test_equal_rewards_give_exactly_0(reward, size, convention):
    advantages = group_relative_advantages(np.full((2, size), reward), convention=convention)
    assert not advantages.any()


def test_equality_is_exact_and_not_a_tolerance():
    equal = np.full(6, 0.1)
    nearly = np.array([0.1] * 5 + [np.nextafter(0.1, 1)])
    assert zero_variance_groups(np.stack([equal, nearly])).tolist() == [True, False]


def test_share_counts_groups():
    rewards = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.3, 0.3]])
    assert zero_variance_share(rewards) == 0.75


def test_names_a_reward_that_is_not_finite():
    with pytest.raises(ValueError, match=r"reward at \(1, 0\) is nan"):
        group_relative_advantages(np.array([[0.0, 1.0], [np.nan, 1.0]]), convention="trl")


def test_refuses_an_unknown_convention_and_an_empty_group():
    with pytest.raises(ValueError, match="valid: trl, population, none"):
        group_relative_advantages(np.zeros((1, 2)), convention="grpo")
    with pytest.raises(ValueError, match="at least one group"):
        zero_variance_share(np.zeros((0, 8)))
