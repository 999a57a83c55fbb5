import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from radrl.algorithms.advantages import zero_variance_groups
from radrl.algorithms.ddsampling import label_diversity, reward_std, unique_rewards

ROLLOUTS = hnp.arrays(np.int8, (10, 14), elements=st.integers(0, 3))


def test_diagnoses_by_hand():
    # label 0: ones in 1 of 4, std sqrt(3)/4; label 1: in 2 of 4, 1/2; label 2: in all, 0
    labels = np.array([[1, 1, 1], [0, 1, 1], [2, 0, 1], [0, 0, 1]])
    assert float(label_diversity(labels)) == pytest.approx(np.sqrt(3) / 4 + 0.5)
    # sample: sqrt(k (K - k) / (K (K - 1))) -> sqrt(3/12) + sqrt(4/12)
    assert float(label_diversity(labels, std="sample")) == pytest.approx(0.5 + np.sqrt(1 / 3))


def test_uncertain_counts_as_told():
    labels = np.array([[1], [3]])
    assert float(label_diversity(labels)) == 0.5
    assert float(label_diversity(labels, uncertain_as_positive=True)) == 0.0


def test_agrees_with_the_vectors(rl_math):
    for case in rl_math["ddsampling"]["scores"]:
        labels = np.array(case["preds_KxC"])
        assert float(label_diversity(labels)) == pytest.approx(case["D_population"], abs=1e-12)
        assert float(label_diversity(labels, std="sample")) == pytest.approx(case["D_ddof1"], abs=1e-12)


@given(ROLLOUTS)
def test_equals_the_plain_formula(labels):
    binary = (labels == 1).astype(float)
    assert float(label_diversity(labels)) == pytest.approx(binary.std(axis=0).sum())
    assert float(label_diversity(labels, std="sample")) == pytest.approx(binary.std(axis=0, ddof=1).sum())


@given(ROLLOUTS, st.permutations(range(14)), st.permutations(range(10)))
def test_equal_disagreement_on_other_labels_ties_to_the_last_bit(labels, columns, rows):
    studies = np.stack([labels, labels[list(rows)][:, list(columns)]])  # (2, K, C)
    first, second = label_diversity(studies)
    assert first == second


def test_refuses_a_single_rollout_and_an_unknown_std():
    with pytest.raises(ValueError, match="1 rollouts"):
        label_diversity(np.zeros((1, 14), int))
    with pytest.raises(ValueError, match="valid: population, sample"):
        label_diversity(np.zeros((2, 14), int), std="both")


REWARDS = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=1, max_dims=3, max_side=6),
    elements=st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0]),
)


def test_rewards_by_hand():
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
