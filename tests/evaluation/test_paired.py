import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.evaluation.paired import holm, paired_differences, randomisation_p
from radrl.evaluation.summed import mean_metrics

PATIENTS = [f"p{i // 2:02d}" for i in range(80)]


def arm(rng: np.random.Generator, difficulty: np.ndarray, shift: float = 0.0):
    """An arm's scores: a study's difficulty, shared by all arms, a part by patient and study noise."""
    by_patient = 0.5 * rng.normal(size=(40, 1)) + 0.5 * rng.normal(size=(40, 2))
    return [mean_metrics({"m": difficulty + by_patient.reshape(-1) + shift})]


def test_an_arm_against_itself():
    runs = arm(np.random.default_rng(0), np.zeros(80))
    found = paired_differences(runs, runs, PATIENTS, seed=0)["m"]
    assert (found.difference, found.low, found.high) == (0, 0, 0)
    assert found.p_bootstrap == 1.0
    assert found.p_randomisation == 1.0


def test_false_positive_rate_is_the_level():
    rng = np.random.default_rng(0)
    bootstrap = randomisation = 0
    for sim in range(400):
        difficulty = 3 * rng.normal(size=80)
        found = paired_differences(
            arm(rng, difficulty), arm(rng, difficulty), PATIENTS, resamples=200, seed=sim
        )["m"]
        bootstrap += found.p_bootstrap < 0.05
        randomisation += found.p_randomisation < 0.05
    assert 0.02 <= bootstrap / 400 <= 0.10  # 40 patients: the percentile method is a little liberal
    assert 0.02 <= randomisation / 400 <= 0.085


def test_pairing_finds_what_unpaired_noise_would_hide():
    rng = np.random.default_rng(1)
    hits = 0
    for sim in range(50):
        difficulty = 3 * rng.normal(size=80)  # six times the true difference
        found = paired_differences(
            arm(rng, difficulty, 0.5), arm(rng, difficulty), PATIENTS, resamples=200, seed=sim
        )["m"]
        hits += found.p_bootstrap < 0.05 and found.p_randomisation < 0.05
    assert hits >= 40


def test_randomisation_p_against_all_swaps():
    """Five patients, differences 1 to 5 in favour of the arm: 2 of 32 sign patterns are as extreme."""
    ours, theirs = [mean_metrics({"m": [1.0, 2, 3, 4, 5]})], [mean_metrics({"m": [0.0] * 5})]
    patterns = itertools.product([1, -1], repeat=5)
    exact = sum(abs(sum(s * d for s, d in zip(p, range(1, 6), strict=True))) >= 15 for p in patterns) / 32
    found = randomisation_p(ours, theirs, groups_of=list("abcde"), resamples=20_000, seed=0)["m"]
    assert exact == 2 / 32
    assert found == pytest.approx(exact, abs=0.006)


def test_swapping_moves_whole_patients():
    """Two patients: swapping studies one by one would leave p far smaller."""
    ours = [mean_metrics({"m": [1.0] * 10})]
    theirs = [mean_metrics({"m": [0.0] * 10})]
    found = randomisation_p(ours, theirs, groups_of=["a"] * 5 + ["b"] * 5, resamples=4000, seed=0)["m"]
    assert found == pytest.approx(0.5, abs=0.04)


def test_unequal_numbers_of_runs_leave_the_bootstrap_alone():
    rng = np.random.default_rng(2)
    one, two = arm(rng, np.zeros(80)), arm(rng, np.zeros(80)) + arm(rng, np.zeros(80))
    found = paired_differences(two, one, PATIENTS, resamples=100, seed=0)["m"]
    assert found.p_randomisation is None
    assert 0 < found.p_bootstrap <= 1
    with pytest.raises(ValueError, match="2 runs against 1"):
        randomisation_p(two, one, groups_of=PATIENTS, seed=0)


def test_metrics_of_one_arm_only_are_named():
    with pytest.raises(ValueError, match="one arm only: a, b"):
        paired_differences([mean_metrics({"a": [1.0]})], [mean_metrics({"b": [1.0]})], ["p"], seed=0)


def test_holm_by_hand():
    # sorted 0.01, 0.02, 0.03, 0.5 -> 0.04, 0.06, 0.06, 0.5
    assert holm([0.02, 0.5, 0.01, 0.03]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_lies_between_plain_and_bonferroni(p_values):
    adjusted = holm(p_values)
    for p, q in zip(p_values, adjusted, strict=True):
        assert p <= q <= min(1.0, p * len(p_values))
    ranked = [q for _, q in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


def test_holm_refuses_what_is_no_probability():
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        holm([0.5, float("nan")])
