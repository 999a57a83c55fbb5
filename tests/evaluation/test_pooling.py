import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import chi2, t

from radrl.evaluation import mean_metrics
from radrl.evaluation.paired import paired_differences
from radrl.evaluation.pooling import detectable, detectable_by, pool_differences, standard_error
from radrl.evaluation.seed_variance import Prior, variance_prior


def test_three_seeds_by_hand():
    # mean 0.4; deviations -0.3, 0, 0.3, so sd 0.3 and its error 0.3 / sqrt(3) = 0.173205; t_2 at 97.5 % is
    # 4.302653. With 2 degrees of freedom P(|T| > t) = 1 - t / sqrt(t^2 + 2), here t = 0.4 / 0.173205
    found = pool_differences([0.1, 0.4, 0.7], [0.05, 0.05, 0.05])
    assert (found.difference, found.seeds) == (pytest.approx(0.4), 3)
    assert found.std == pytest.approx(0.3)
    assert found.high - found.difference == pytest.approx(4.302653 * 0.173205, rel=1e-5)
    assert found.difference - found.low == pytest.approx(found.high - found.difference)
    ratio = 0.4 / (0.3 / math.sqrt(3))
    assert found.p == pytest.approx(1 - ratio / math.sqrt(ratio * ratio + 2))
    assert found.error == pytest.approx(0.05 / math.sqrt(3))


def test_seeds_that_agree_by_chance_leave_the_interval_over_patients():
    found = pool_differences([0.10, 0.101, 0.099], [0.06, 0.06, 0.06])
    # t: 4.30 * 0.001 / sqrt(3) = 0.0025; patients: 1.96 * 0.06 / sqrt(3) = 0.0679
    assert found.high - found.low == pytest.approx(2 * 1.959964 * 0.06 / math.sqrt(3), rel=1e-6)
    assert found.p == pytest.approx(math.erfc(0.1 / (0.06 / math.sqrt(3)) / math.sqrt(2)))


def test_no_difference_in_any_seed():
    found = pool_differences([0.0, 0.0], [0.0, 0.0])
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_a_prior_by_hand():
    # own variance 0.09 with 2 degrees of freedom. A sure prior of 0.16 is the larger one and adds half of 2:
    # t_3 at 97.5 % is 3.182446. One of 0.03 leaves 0.09, and adds (0.03 / 0.09)^2
    wide = pool_differences([0.1, 0.4, 0.7], [0.05] * 3, prior=Prior(math.inf, 0.16))
    assert (wide.freedom, wide.error_by_seeds) == (3, pytest.approx(0.4 / math.sqrt(3)))
    assert wide.high - wide.difference == pytest.approx(3.182446 * 0.4 / math.sqrt(3), rel=1e-6)
    assert wide.p == pytest.approx(2 * t.sf(math.sqrt(3), 3))
    narrow = pool_differences([0.1, 0.4, 0.7], [0.05] * 3, prior=Prior(math.inf, 0.03))
    assert (narrow.freedom, narrow.std) == (pytest.approx(2 + 1 / 9), pytest.approx(0.3))
    assert narrow.error_by_seeds == pytest.approx(0.3 / math.sqrt(3))


def test_no_prior_is_surer_than_the_patients():
    found = pool_differences([0.10, 0.101, 0.099], [0.06] * 3, prior=Prior(math.inf, 1e-6))
    assert found.high - found.low == pytest.approx(2 * 1.959964 * 0.06 / math.sqrt(3), rel=1e-6)


def test_an_arm_equal_to_its_reference_is_no_finding_with_a_prior():
    found = pool_differences([0.0] * 3, [0.0] * 3, prior=Prior(math.inf, 0.01))
    assert (found.difference, found.p) == (0, 1)


DIFFERENCES = st.lists(st.floats(-1, 1), min_size=2, max_size=8)


@given(DIFFERENCES, st.floats(0, 0.1))
def test_a_prior_that_says_nothing_is_the_plain_t_test(differences, error):
    errors = [error] * len(differences)
    assert pool_differences(differences, errors, prior=Prior(0.0, 0.0)) == pool_differences(
        differences, errors
    )


@given(DIFFERENCES, st.floats(1e-3, 1e3), st.floats(0.5, 50), st.floats(1e-4, 1))
def test_the_unit_changes_no_p(differences, unit, d0, s0):
    errors = [0.01] * len(differences)
    plain = pool_differences(differences, errors, prior=Prior(d0, s0))
    scaled = pool_differences(
        [unit * one for one in differences],
        [unit * one for one in errors],
        prior=Prior(d0, unit**2 * s0),
    )
    assert scaled.p == pytest.approx(plain.p, rel=1e-6, abs=1e-12)
    assert scaled.high == pytest.approx(unit * plain.high, rel=1e-6, abs=1e-9 * unit)


def test_a_prior_keeps_the_level_of_the_widest_hypothesis_where_smyths_does_not():
    rng = np.random.default_rng(0)
    spread = np.array([0.0095] * 7 + [0.03])
    studies, seeds = 1000, 6
    wrong, smyths = np.zeros(8), 0
    for _ in range(studies):
        found = 0.011 * rng.standard_normal((8, seeds)) + spread[:, None] * rng.standard_normal((8, seeds))
        prior = variance_prior(found.std(axis=1, ddof=1), seeds - 1)
        pooled = [pool_differences(one, [0.011] * seeds, prior=prior) for one in found]
        wrong += [one.p < 0.05 for one in pooled]
        share = 1 / (1 + (seeds - 1) / prior.freedom)
        error = math.sqrt((share * prior.variance + (1 - share) * pooled[7].std ** 2) / seeds)
        smyths += 2 * t.sf(abs(pooled[7].difference) / error, prior.freedom + seeds - 1) < 0.05
    assert wrong[7] / studies <= 0.072  # 3 standard errors above 5 %
    assert wrong.mean() / studies <= 0.05
    assert smyths / studies > 0.12


def test_detectable_by_hand():
    # of a normal test the quantiles add up: 1.959964 + 0.841621
    assert detectable(0.01, math.inf, alpha=0.05) == pytest.approx(0.02801585)
    assert detectable(0.0, 5, alpha=0.05) == 0


@pytest.mark.parametrize(("freedom", "alpha", "power"), [(2, 0.05, 0.8), (5, 0.00625, 0.8), (7.5, 0.01, 0.9)])
def test_detectable_has_its_power(freedom, alpha, power):
    ratio = detectable(1.0, freedom, alpha=alpha, power=power)
    shares = (np.arange(100_000) + 0.5) / 100_000  # of the variance, which decides what the test asks for
    asked = t.isf(alpha / 2, freedom) * np.sqrt(chi2.ppf(shares, freedom) / freedom)
    assert ndtr(ratio - asked).mean() == pytest.approx(power, abs=1e-4)


def test_detectable_by_the_wider_of_seeds_and_patients():
    agreeing = pool_differences([0.10, 0.101, 0.099], [0.06] * 3)
    assert detectable_by(agreeing, alpha=0.05) == detectable(agreeing.error, math.inf, alpha=0.05)
    apart = pool_differences([0.1, 0.4, 0.7], [0.05] * 3)
    by_seeds = detectable(0.3 / math.sqrt(3), 2, alpha=0.01, power=0.9)
    assert detectable_by(apart, alpha=0.01, power=0.9) == pytest.approx(by_seeds)


@pytest.mark.parametrize(
    ("error", "freedom", "alpha", "power"),
    [(-1, 5, 0.05, 0.8), (math.inf, 5, 0.05, 0.8), (1, 0, 0.05, 0.8), (1, 5, 0, 0.8), (1, 5, 0.05, 1)],
)
def test_refuses_what_has_no_power(error, freedom, alpha, power):
    with pytest.raises(ValueError, match="0 < alpha < power < 1"):
        detectable(error, freedom, alpha=alpha, power=power)


def test_error_of_an_interval():
    assert standard_error(-0.2, 0.2) == pytest.approx(0.2 / 1.959964)
    assert standard_error(0.0, 0.2, level=0.9) == pytest.approx(0.1 / 1.644854)


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("between", [0.0, 1.0, 10.0])  # variance between seeds over that within them
@pytest.mark.parametrize("uneven", [False, True])
def test_interval_covers_the_truth_and_p_keeps_its_level(seeds, between, uneven):
    rng = np.random.default_rng([seeds, int(between), uneven])
    within = np.linspace(0.25, 1.75, seeds) if uneven else np.ones(seeds)
    inside = rejected = 0
    for _ in range(2000):
        differences = 0.3 + rng.normal(0, np.sqrt(between + within))
        measured = np.sqrt(within * rng.chisquare(40, seeds) / 40)  # errors estimated over 41 patients
        found = pool_differences(differences, measured)
        inside += found.low <= 0.3 <= found.high
        rejected += pool_differences(differences - 0.3, measured).p < 0.05
    # 3 standard errors at 95 % are 0.015; the floor under the interval makes it cover more without variance
    # between seeds
    assert inside / 2000 >= 0.935
    assert rejected / 2000 <= 0.065
    if between == 10 and not uneven:
        assert inside / 2000 <= 0.97


def test_between_seed_variance_is_what_the_patients_alone_would_miss():
    """Without the t interval a seed's luck would pass for the method's: this test can fail."""
    rng = np.random.default_rng(0)
    pooled = alone = 0
    for _ in range(500):
        found = pool_differences(rng.normal(0, math.sqrt(2), 3), [1.0, 1.0, 1.0])
        pooled += found.p < 0.05
        alone += abs(found.difference) > 1.96 * found.error
    assert pooled / 500 <= 0.07
    assert alone / 500 > 0.12


def test_whole_studies_from_reports_to_the_pooled_verdict():
    """Three seeds with other studies each, from paired differences with their bootstrap intervals."""
    rng = np.random.default_rng(1)
    patients = [f"p{i // 2}" for i in range(60)]
    rejected = 0
    for sim in range(200):
        differences, errors = [], []
        for _ in range(3):
            difficulty, luck = 3 * rng.normal(size=60), 0.3 * rng.normal()
            ours, theirs = (
                mean_metrics({"m": difficulty + shift + np.repeat(rng.normal(size=30), 2)})
                for shift in (luck, 0.0)
            )
            found = paired_differences(ours, theirs, patients, resamples=100, seed=sim)["m"]
            differences.append(found.difference)
            errors.append(standard_error(found.low, found.high))
        rejected += pool_differences(differences, errors).p < 0.05
    assert rejected / 200 <= 0.10  # 3 standard errors above 5 %


@pytest.mark.parametrize(
    ("differences", "errors", "level", "message"),
    [
        ([0.1], [0.1], 0.95, "1 differences and 1 errors"),
        ([0.1, 0.2], [0.1], 0.95, "2 differences and 1 errors"),
        ([0.1, math.nan], [0.1, 0.1], 0.95, "finite"),
        ([0.1, 0.2], [0.1, -0.1], 0.95, "finite"),
        ([0.1, 0.2], [0.1, 0.1], 95, "level is 95"),
    ],
)
def test_refuses_what_cannot_be_pooled(differences, errors, level, message):
    with pytest.raises(ValueError, match=message):
        pool_differences(differences, errors, level=level)
