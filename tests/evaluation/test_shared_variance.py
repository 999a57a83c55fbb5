import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from radrl.evaluation.seed_variance import (
    Prior,
    moderated,
    posterior_variances,
    trigamma_inverse,
    variance_prior,
    variance_priors,
)


def test_prior_by_hand():
    # d = 2: psi(1) = -gamma, trigamma(1) = pi^2 / 6. Log variances -a, 0, a have the variance a^2. With
    # a^2 = pi^2 / 6 + trigamma(3/2), trigamma(3/2) = pi^2 / 2 - 4, d0 is 3; psi(3/2) = 2 - gamma - 2 log 2,
    # so log s0^2 = gamma + psi(3/2) - log(3/2) = 2 - 2 log 2 - log(3/2)
    a = math.sqrt(math.pi**2 / 6 + math.pi**2 / 2 - 4)
    found = variance_prior([math.exp(-a / 2), 1.0, math.exp(a / 2)], 2)
    assert found.freedom == pytest.approx(3)
    assert found.variance == pytest.approx(math.exp(2) / 6)


def test_prior_is_the_solution_of_smyths_equations():
    stds, freedom = [0.004, 0.011, 0.007, 0.03, 0.015, 0.009], 5
    z = np.log(np.square(stds))
    e = z - digamma(freedom / 2) + math.log(freedom / 2)
    wanted = e.var(ddof=1) - polygamma(1, freedom / 2)
    d0 = brentq(lambda d: float(polygamma(1, d / 2)) - wanted, 0.01, 1000)
    found = variance_prior(stds, freedom)
    assert found.freedom == pytest.approx(d0)
    assert found.variance == pytest.approx(math.exp(e.mean() + digamma(d0 / 2) - math.log(d0 / 2)))


def test_variances_alike_have_infinite_freedom():
    # e of each is log 4 + gamma with d = 2
    assert variance_prior([2.0, 2.0, 2.0], 2) == Prior(math.inf, pytest.approx(4 * math.exp(np.euler_gamma)))


def test_prior_is_found_in_variances_drawn_from_it():
    rng = np.random.default_rng(0)
    true = 0.02**2 * 8 / rng.chisquare(8, 4000)
    found = variance_prior(np.sqrt(true * rng.chisquare(5, 4000) / 5), 5)
    assert found.freedom == pytest.approx(8, rel=0.15)
    assert found.variance == pytest.approx(0.02**2, rel=0.05)


def test_an_arm_equal_to_its_reference_says_nothing():
    stds = [0.01, 0.02, 0.04, 0.03]
    assert variance_prior([*stds, 0.0, 1e-12], 5) == variance_prior(stds, 5)
    for few in ([], [0.01, 0.02], [0.0, 0.0, 0.0], [0.0, 0.01, 0.02]):
        assert variance_prior(few, 5) == Prior(0.0, 0.0)


def test_many_studies_at_once_are_each_alone():
    variances = np.random.default_rng(1).chisquare(3, (5, 7)) ** 3
    variances[2, 3:] = 0
    variances[3, 2:] = 0
    d0, s0 = variance_priors(variances, 3)
    for row, *both in zip(variances, d0, s0, strict=True):
        alone = variance_prior(np.sqrt(row), 3)
        assert [alone.freedom, alone.variance] == pytest.approx(both)


def test_posterior_by_hand():
    # (4 * 2 + 6 * 7) / 10; all of the prior where it is sure, none where it says nothing
    found = posterior_variances(np.full(3, 7.0), 6, np.array([4.0, math.inf, 0.0]), np.array([2.0, 2.0, 0.0]))
    assert found == pytest.approx([5.0, 2.0, 7.0])


def test_moderated_by_hand():
    own = np.array([1.0, 9.0, 0.0])
    variance, freedom = moderated(own, 4, np.array(math.inf), np.array(3.0))
    assert variance == pytest.approx([3.0, 9.0, 3.0])  # never below its own
    assert freedom == pytest.approx([6.0, 4 + 2 * (3 / 9) ** 2, 6.0])  # half of 4 more, less where wider
    variance, freedom = moderated(own, 4, np.array(1.0), np.array(3.0), most=1)
    assert variance == pytest.approx([(3 + 4) / 5, 9.0, 3 / 5])
    assert freedom == pytest.approx([5.0, 4 + 1 / 9, 5.0])


@given(
    st.lists(st.floats(1e-2, 1e2), min_size=3, max_size=12),
    st.integers(1, 9),
    st.floats(1e-6, 1e6),
)
def test_the_unit_of_the_metric_changes_nothing(stds, freedom, unit):
    plain, scaled = variance_prior(stds, freedom), variance_prior([unit * one for one in stds], freedom)
    excess = np.log(np.square(stds)).var(ddof=1) - polygamma(1, freedom / 2)
    if abs(excess) > 1e-3:  # on the edge between finite and infinite rounding decides
        assert scaled.freedom == pytest.approx(plain.freedom, rel=1e-5)
        assert scaled.variance == pytest.approx(unit**2 * plain.variance, rel=1e-5)


@given(st.floats(-12, 12))
def test_trigamma_inverse(power):
    y = 10.0**power
    assert float(polygamma(1, trigamma_inverse(np.array(y)))) == pytest.approx(y, rel=1e-3)
    if abs(power) < 5:
        assert float(polygamma(1, trigamma_inverse(np.array(y)))) == pytest.approx(y, rel=1e-8)


@pytest.mark.parametrize(
    ("stds", "freedom", "message"),
    [([0.1, -0.1, 0.2], 5, "0 or more"), ([0.1, math.nan, 0.2], 5, "finite"), ([0.1] * 3, 0, "freedom is 0")],
)
def test_refuses_what_is_no_spread(stds, freedom, message):
    with pytest.raises(ValueError, match=message):
        variance_prior(stds, freedom)
