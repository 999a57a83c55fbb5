import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from radrl.algorithms.advantages import zero_variance_groups
from radrl.algorithms.reward_diversity import reward_std, unique_rewards

REWARDS = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=1, max_dims=3, max_side=6),
    elements=st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0]),
)


def test_by_hand():
    rewards = [[0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5], [0, 0.5, 1, 0.5]]
    assert unique_rewards(rewards).tolist() == [2, 1, 3]
    assert reward_std(rewards).tolist() == pytest.approx([0.5, 0, np.sqrt(0.125)])
    assert reward_std(rewards, std="sample").tolist() == pytest.approx([np.sqrt(1 / 3), 0, np.sqrt(0.5 / 3)])


@given(REWARDS)
def test_one_reward_no_deviation_and_no_variance_are_one_thing(rewards):
    equal = zero_variance_groups(rewards)
    assert ((unique_rewards(rewards) == 1) == equal).all()
    assert ((reward_std(rewards) == 0) == equal).all()
    assert (unique_rewards(rewards) <= rewards.shape[-1]).all()


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([[0.0, np.nan]], {}, r"reward at \(0, 1\) is nan"),
        (np.zeros((2, 0)), {}, r"rewards have shape \(2, 0\)"),
        ([[0.0]], {"std": "sample"}, "groups of 1 reward have no sample standard deviation"),
        ([[0.0, 1.0]], {"std": "robust"}, "unknown std 'robust'; valid: population, sample"),
    ],
)
def test_what_cannot_be_measured_is_refused(given, options, message):
    with pytest.raises(ValueError, match=message):
        reward_std(given, **options)
