import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.algorithms.f_measure import ratio
from radrl.evaluation import SummedMetrics, mean_metrics
from radrl.evaluation.paired import FEWEST_PATIENTS, holm, holm_within, paired_differences, randomisation_p

PATIENTS = [f"p{i // 2:02d}" for i in range(80)]


def arm(rng: np.random.Generator, difficulty: np.ndarray, shift: float = 0.0):
    """An arm's scores: a study's difficulty, shared by all arms, a part by patient and study noise."""
    by_patient = 0.5 * rng.normal(size=(40, 1)) + 0.5 * rng.normal(size=(40, 2))
    return mean_metrics({"m": difficulty + by_patient.reshape(-1) + shift})


def test_an_arm_against_itself():
    one = arm(np.random.default_rng(0), np.zeros(80))
    found = paired_differences(one, one, PATIENTS, seed=0)["m"]
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


def f1_family(truth: np.ndarray, found: np.ndarray) -> SummedMetrics:
    """Micro and macro F1 of boolean labels, shape (N, L)."""
    counts = [truth & found, ~truth & found, truth & ~found]

    def of_sums(sums):
        tp, fp, fn = np.split(sums, 3, axis=-1)  # (..., L) each
        by_label = ratio(2 * tp, 2 * tp + fp + fn, 0.0)
        micro = ratio(2 * tp.sum(-1), (2 * tp + fp + fn).sum(-1), 0.0)
        return {"micro": micro, "macro": by_label.mean(axis=-1)}

    return SummedMetrics(np.concatenate(counts, axis=1).astype(float), of_sums)


def test_false_positive_rate_of_f1_is_the_level():
    """Arms that make the same kind of errors, alike within a patient; rare labels beside frequent ones."""
    rng = np.random.default_rng(3)
    prevalence = np.array([0.5, 0.3, 0.2, 0.15, 0.1])
    rejected = dict.fromkeys([("micro", "b"), ("micro", "r"), ("macro", "b"), ("macro", "r")], 0)
    for sim in range(300):
        truth = rng.random((80, 5)) < prevalence

        def labelled(truth: np.ndarray = truth) -> SummedMetrics:
            by_patient = np.repeat(rng.random((40, 5)) < 0.25, 2, axis=0)
            wrong = by_patient | (rng.random((80, 5)) < 0.1)
            return f1_family(truth, truth & ~wrong | ~truth & wrong & (rng.random((80, 5)) < 0.3))

        found = paired_differences(labelled(), labelled(), PATIENTS, resamples=200, seed=sim)
        for metric, difference in found.items():
            rejected[metric, "b"] += difference.p_bootstrap < 0.05
            rejected[metric, "r"] += difference.p_randomisation < 0.05
    # 3 standard errors around 5 % are 0.012 to 0.088
    assert all(0.01 <= count / 300 <= 0.09 for count in rejected.values()), rejected


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
    ours, theirs = mean_metrics({"m": [1.0, 2, 3, 4, 5]}), mean_metrics({"m": [0.0] * 5})
    patterns = itertools.product([1, -1], repeat=5)
    exact = sum(abs(sum(s * d for s, d in zip(p, range(1, 6), strict=True))) >= 15 for p in patterns) / 32
    found = randomisation_p(ours, theirs, groups_of=list("abcde"), resamples=20_000, seed=0)["m"]
    assert exact == 2 / 32
    assert found == pytest.approx(exact, abs=0.006)


def test_a_swap_that_leaves_the_metric_undefined_leaves_no_p():
    """Counted as not extreme, it would make p smaller the less the metric is defined."""

    def family(scores, counted):
        def of_sums(sums):
            return {"rate": ratio(sums[..., 0], sums[..., 1], float("nan")), "sum": sums[..., 0]}

        return SummedMetrics(np.column_stack([scores, counted]).astype(float), of_sums)

    ours, theirs = family([1, 1, 0, 0], [1, 1, 0, 0]), family([0, 0, 1, 0], [0, 0, 1, 1])
    found = randomisation_p(ours, theirs, groups_of=list("abcd"), resamples=200, seed=0)
    assert np.isnan(found["rate"])  # all that counts is with one arm in some swaps
    assert 0 < found["sum"] <= 1


def test_swapping_moves_whole_patients():
    """Two patients: swapping studies one by one would leave p far smaller."""
    ours = mean_metrics({"m": [1.0] * 10})
    theirs = mean_metrics({"m": [0.0] * 10})
    found = randomisation_p(ours, theirs, groups_of=["a"] * 5 + ["b"] * 5, resamples=4000, seed=0)["m"]
    assert found == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(("patients", "tested"), [(3, False), (9, False), (10, True)])
def test_a_difference_over_few_patients_has_no_p(patients, tested):
    """Every patient is for the arm: by swaps 2 of 2 ** n patterns are as extreme."""
    one, other = (mean_metrics({"m": value}) for value in (np.arange(1.0, patients + 1), np.zeros(patients)))
    found = paired_differences(one, other, list(map(str, range(patients))), resamples=4000, seed=0)["m"]
    assert found.low > 0
    assert found.patients == patients
    assert np.isfinite(found.p_bootstrap) == tested
    assert np.isfinite(found.p_randomisation) == tested
    if tested:
        assert found.p_randomisation == pytest.approx(2**-9, abs=2e-3)


def test_so_many_patients_are_wanted_that_holm_over_25_arms_can_be_passed_by_swaps():
    alpha, arms = 0.05, 25
    assert arms * 2.0 ** (1 - FEWEST_PATIENTS) < alpha <= (arms + 1) * 2.0 ** (1 - FEWEST_PATIENTS)


def test_metrics_of_one_arm_only_are_named():
    with pytest.raises(ValueError, match="one arm only: a, b"):
        paired_differences(mean_metrics({"a": [1.0]}), mean_metrics({"b": [1.0]}), ["p"], seed=0)


def test_holm_within_families_counts_what_is_tested_alone():
    # family a: 0.01 x 2, 0.04; family b: 0.04 x 1, for what has no p is no hypothesis
    p = holm_within(["a", "b", "a", "b", "b"], [0.01, None, 0.04, 0.04, math.nan])
    assert p == [pytest.approx(0.02), None, pytest.approx(0.04), pytest.approx(0.04), None]


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
