from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from radrl.algorithms.ln_dpo import (
    ln_dpo_loss,
    mean_log_probability,
    negatives,
    pair_loss,
    preference_margin,
)

TAU = 0.5
LOGP = st.floats(-5, 0)
GROUPS = hnp.arrays(np.float64, (2, 3, 4), elements=LOGP)  # policy and reference, prompts, rollouts
POSITIVES = hnp.arrays(np.float64, (2, 3), elements=LOGP)


def test_mean_log_probability_by_hand():
    logp = [[-1.0, -3.0, np.nan], [-2.0, -2.0, -5.0]]  # what padding holds is not read
    assert mean_log_probability(logp, [[1, 1, 0], [1, 1, 1]]).tolist() == [-2.0, -3.0]


def test_negatives_are_the_rollouts_without_reward_or_all():
    rewards = [[0.0, 0.5, 0.0], [1.0, 1e-9, 1.0]]
    assert negatives(rewards).tolist() == [[True, False, True], [False, False, False]]
    assert negatives(rewards, which="all").all()


def test_margin_and_loss_by_hand():
    # the policy raised the positive by 0.5 nats a token and lowered the negative by 0.25
    margin = preference_margin(-1.0, -1.5, -2.0, -1.75)
    assert float(margin) == 0.75
    assert float(pair_loss(margin, tau=2.0)) == pytest.approx(log(1 + exp(-1.5)))
    assert float(pair_loss(0.0, tau=2.0)) == pytest.approx(log(2))


def test_agrees_with_the_vectors(rl_math):
    for case in rl_math["orapo"]["dpo"]:
        positive, reference = (case[name] / case["len_w"] for name in ("logp_w", "ref_w"))
        negative, negative_reference = (case[name] / case["len_l"] for name in ("logp_l", "ref_l"))
        margin = preference_margin(positive, reference, negative, negative_reference)
        assert float(pair_loss(margin, tau=case["tau"])) == pytest.approx(case["ln_dpo"], abs=1e-12)
        sums = preference_margin(*(case[name] for name in ("logp_w", "ref_w", "logp_l", "ref_l")))
        assert float(pair_loss(sums, tau=case["tau"])) == pytest.approx(case["dpo"], abs=1e-12)


def test_a_prompts_loss_is_the_mean_over_its_pairs():
    chosen = np.array([[True, True, False], [False, False, False]])
    policy = np.array([[-1.0, -2.0, -9.0], [-1.0, -1.0, -1.0]])
    found = ln_dpo_loss([-1.0, -1.0], [-1.0, -1.0], policy, np.full((2, 3), -1.0), chosen, tau=1.0)
    # margins of prompt 1: 0, 1, 8; the third is no negative
    assert found.margins.tolist() == [[0.0, 1.0, 8.0], [0.0, 0.0, 0.0]]
    assert found.loss.tolist() == pytest.approx([(log(2) + log(1 + exp(-1))) / 2, 0.0])
    assert found.has_negatives.tolist() == [True, False]


@given(POSITIVES, GROUPS, hnp.arrays(np.bool_, (3, 4)))
def test_the_frozen_policy_itself_has_margin_0_and_loss_ln_2(positives, groups, chosen):
    found = ln_dpo_loss(positives[0], positives[0], groups[0], groups[0], chosen, tau=TAU)
    assert not found.margins.any()
    np.testing.assert_allclose(found.loss, np.where(chosen.any(axis=1), log(2), 0.0))


@given(POSITIVES, GROUPS, hnp.arrays(np.bool_, (3, 4)), st.permutations(range(4)))
def test_order_of_rollouts_does_not_matter(positives, groups, chosen, order):
    one = ln_dpo_loss(*positives, *groups, chosen, tau=TAU)
    other = ln_dpo_loss(*positives, *groups[..., order], chosen[:, order], tau=TAU)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-12)


@given(POSITIVES, GROUPS, st.floats(0.01, 2))
def test_raising_the_reference_report_lowers_the_loss(positives, groups, more):
    everything = np.ones((3, 4), bool)
    before = ln_dpo_loss(*positives, *groups, everything, tau=TAU)
    after = ln_dpo_loss(positives[0] + more, positives[1], *groups, everything, tau=TAU)
    assert np.all(after.loss < before.loss)
    assert np.all(after.loss > 0)


def test_stays_finite_for_any_margin():
    np.testing.assert_allclose(pair_loss([-1e6, 1e6], tau=1.0), [1e6, 0.0])


def test_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"sequence \[1\] has no token"):
        mean_log_probability(np.zeros((2, 2)), [[1, 1], [0, 0]])
    with pytest.raises(ValueError, match=r"log-probability at \(0,\) is -inf"):
        mean_log_probability([-np.inf], [1])
    with pytest.raises(ValueError, match="valid: zero_reward, all"):
        negatives([0.0], which="worst")
    with pytest.raises(ValueError, match="tau is 0"):
        pair_loss(0.0, tau=0)
    with pytest.raises(ValueError, match=r"chosen \(2, 2\)"):
        ln_dpo_loss([0], [0], [[0, 0]], [[0, 0]], np.ones((2, 2)), tau=1)
    with pytest.raises(ValueError, match=r"positives have shape \(2,\), negatives \(1, 2\)"):
        ln_dpo_loss([0, 0], [0, 0], [[0, 0]], [[0, 0]], [[1, 1]], tau=1)


def test_a_rollout_that_lost_something_is_no_zero_reward_rollout():
    """Below 0 is not "without reward" (OraPO, eq. 12's text), and nothing is clipped to it."""
    assert negatives([[-0.5, 0.0, -1e-12, 0.5]]).tolist() == [[False, True, False, False]]
