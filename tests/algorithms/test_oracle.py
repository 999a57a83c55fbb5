import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.algorithms.oracle import (
    BATCH,
    average_rates,
    loss_shares,
    mixed_loss,
    mixing_weight,
    moving_average,
    zero_reward_rate,
)

RATE = st.floats(0, 1)
RATES = st.lists(RATE, min_size=1, max_size=20)
BOUNDS = st.tuples(RATE, RATE).map(sorted)
LOSS = st.floats(-10, 10)


def test_zero_reward_rate_by_hand():
    rewards = [[0, 0, 0, 0], [0, 1, 0.5, 0], [1, 1, 1, 0.1]]
    assert zero_reward_rate(rewards).tolist() == [1.0, 0.5, 0.0]


def test_zero_is_exact():
    assert float(zero_reward_rate([0.0, -0.0, 1e-300, 1e-9])) == 0.5


def test_average_by_hand():
    # first observation 1; then 0.7 * 1 + 0.3 * 0
    assert moving_average(None, 1.0, momentum=0.7) == 1.0
    assert moving_average(1.0, 0.0, momentum=0.7) == pytest.approx(0.7)
    # 0.7 * 0.2 + 0.3 * 0.6
    assert moving_average(0.2, 0.6, momentum=0.7) == pytest.approx(0.32)


def test_rounding_leads_past_no_bound():
    assert 0.61 * 0.9 + (1 - 0.61) * 0.9 > 0.9
    assert moving_average(0.9, 0.9, momentum=0.61) == 0.9
    assert 0.31 + (0.93 - 0.31) > 0.93
    assert float(mixing_weight(1.0, w_min=0.31, w_max=0.93)) == 0.93


def test_agrees_with_the_vectors(rl_math):
    case = rl_math["orapo"]
    settings = {"w_min": 0.05, "w_max": 0.15, "exponent": 2.0}
    assert case["w_params_from_secondary_notes"] == {
        "w_min": 0.05,
        "w_max": 0.15,
        "gamma": 2.0,
        "ema_alpha": 0.5,
    }
    for trace, start in (("trace_init_first", None), ("trace_init0", 0.0)):
        average = start
        for step in case[trace]:
            average = moving_average(average, step["z"], momentum=0.5)
            assert average == pytest.approx(step["ema"], abs=1e-12)
            assert float(mixing_weight(average, **settings)) == pytest.approx(step["w"], abs=1e-12)
    for rate, weight in case["w_of_z"].items():
        assert float(mixing_weight(float(rate))) == pytest.approx(weight, abs=1e-12)


@given(RATES, RATE)
def test_average_stays_within_its_observations(observed, momentum):
    average = None
    for i, rate in enumerate(observed):
        average = moving_average(average, rate, momentum=momentum)
        assert min(observed[: i + 1]) <= average <= max(observed[: i + 1])


def test_prompts_have_their_own_averages():
    first = average_rates({}, ["a", "b"], [1.0, 0.5])
    assert first.rates.tolist() == [1.0, 0.5]
    then = average_rates(first.state, ["b", "c"], [0.0, 1.0])
    assert then.rates.tolist() == [0.25, 1.0]
    assert then.state == {"a": 1.0, "b": 0.25, "c": 1.0}
    assert first.state == {"a": 1.0, "b": 0.5}


def test_a_prompt_that_comes_twice_counts_twice():
    assert average_rates({}, ["a", "a"], [1.0, 0.0]).rates.tolist() == [1.0, 0.5]


def test_a_batch_shares_one_average():
    first = average_rates({}, ["a", "b"], [1.0, 0.5], per="batch")
    assert first.rates.tolist() == [0.75, 0.75]
    assert average_rates(first.state, ["c"], [0.0], per="batch").rates.tolist() == [0.375]
    assert first.state == {BATCH: 0.75}


@given(
    st.lists(st.tuples(st.sampled_from("abc"), RATE), min_size=1),
    st.sampled_from(["prompt", "batch"]),
    st.data(),
)
def test_the_state_survives_json_at_any_step(steps, per, data):
    stop = data.draw(st.integers(0, len(steps)))
    unbroken, resumed = {}, {}
    for i, (prompt, rate) in enumerate(steps):
        if i == stop:
            resumed = json.loads(json.dumps(resumed))
        whole = average_rates(unbroken, [prompt], [rate], per=per)
        parts = average_rates(resumed, [prompt], [rate], per=per)
        assert whole.rates.tolist() == parts.rates.tolist()
        unbroken, resumed = whole.state, parts.state
    assert unbroken == resumed


@given(BOUNDS, st.floats(0.1, 8), RATE, RATE)
def test_mixing_weight_is_bounded_and_rises_with_the_rate(bounds, exponent, one, other):
    low, high = bounds
    settings = {"w_min": low, "w_max": high, "exponent": exponent}
    less, more = mixing_weight(sorted([one, other]), **settings)
    assert low <= less <= more <= high
    ends = mixing_weight([0.0, 1.0], **settings)
    assert ends[0] == low
    assert ends[1] == pytest.approx(high, abs=1e-15)


def test_mixed_loss_by_hand():
    # 0.9 * 2 + 0.1 * 4; without a negative 0.9 * 2, or all of GRPO
    assert float(mixed_loss(2.0, 4.0, 0.1)) == pytest.approx(2.2)
    np.testing.assert_allclose(mixed_loss([2, 2], [4, np.nan], 0.1, [True, False]), [2.2, 1.8])
    kept = mixed_loss([2, 2], [4, np.nan], 0.1, [True, False], without_negatives="grpo_alone")
    np.testing.assert_allclose(kept, [2.2, 2.0])


@given(LOSS, st.floats(), st.booleans(), st.sampled_from(["drop_term", "grpo_alone"]))
def test_weight_0_is_grpo_exactly_whatever_the_other_loss(grpo, dpo, some, mode):
    assert mixed_loss([grpo], [dpo], [0.0], [some], without_negatives=mode).tolist() == [grpo]
    shares = loss_shares([0.0], [some], without_negatives=mode)
    assert [share.tolist() for share in shares] == [[1.0], [0.0]]


@given(LOSS, LOSS, RATE)
def test_mixed_loss_lies_between_the_two(grpo, dpo, weight):
    loss = float(mixed_loss(grpo, dpo, weight))
    assert min(grpo, dpo) - 1e-9 <= loss <= max(grpo, dpo) + 1e-9


def test_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="at least one rollout"):
        zero_reward_rate(np.zeros((2, 0)))
    with pytest.raises(ValueError, match=r"reward at \(1,\) is nan"):
        zero_reward_rate([0.0, np.nan])
    with pytest.raises(ValueError, match=r"momentum is 1\.5"):
        moving_average(0.5, 0.5, momentum=1.5)
    with pytest.raises(ValueError, match="prompt 1 has an empty id"):
        average_rates({}, ["a", ""], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"2 prompts but rates of shape \(1,\)"):
        average_rates({}, ["a", "b"], [0.0])
    with pytest.raises(ValueError, match="valid: prompt, batch"):
        average_rates({}, ["a"], [0.0], per="step")
    with pytest.raises(ValueError, match=r"zero-reward rate at \(\) is 1.1"):
        mixing_weight(1.1)
    with pytest.raises(ValueError, match=r"w_min is 0\.2 and w_max 0\.1"):
        mixing_weight(0.5, w_min=0.2, w_max=0.1)
    with pytest.raises(ValueError, match="exponent is 0"):
        mixing_weight(0.5, exponent=0)
    with pytest.raises(ValueError, match="valid: drop_term, grpo_alone"):
        loss_shares(0.1, True, without_negatives="skip")
