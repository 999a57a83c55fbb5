import math

import numpy as np
import pytest

from radrl.evaluation.paired import paired_differences
from radrl.evaluation.pooling import pool_differences, standard_error
from radrl.evaluation.summed import mean_metrics


def test_three_seeds_by_hand():
    # mean 0.4; deviations -0.3, 0, 0.3, so sd 0.3 and its error 0.3 / sqrt(3) = 0.173205; t_2 at 97.5 % is
    # 4.302653. With 2 degrees of freedom P(|T| > t) = 1 - t / sqrt(t^2 + 2), here t = 0.4 / 0.173205
    found = pool_differences([0.1, 0.4, 0.7], [0.05, 0.05, 0.05])
    assert (found.difference, found.seeds) == (pytest.approx(0.4), 3)
    assert found.std == pytest.approx(0.3)
    assert found.high - found.difference == pytest.approx(4.302653 * 0.173205, rel=1e-5)
    assert found.difference - found.low == pytest.approx(found.high - found.difference)
    t = 0.4 / (0.3 / math.sqrt(3))
    assert found.p == pytest.approx(1 - t / math.sqrt(t * t + 2))
    assert found.error == pytest.approx(0.05 / math.sqrt(3))


def test_seeds_that_agree_by_chance_leave_the_interval_over_patients():
    found = pool_differences([0.10, 0.101, 0.099], [0.06, 0.06, 0.06])
    # t: 4.30 * 0.001 / sqrt(3) = 0.0025; patients: 1.96 * 0.06 / sqrt(3) = 0.0679
    assert found.high - found.low == pytest.approx(2 * 1.959964 * 0.06 / math.sqrt(3), rel=1e-6)
    assert found.p == pytest.approx(math.erfc(0.1 / (0.06 / math.sqrt(3)) / math.sqrt(2)))


def test_no_difference_in_any_seed():
    found = pool_differences([0.0, 0.0], [0.0, 0.0])
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)


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
                [mean_metrics({"m": difficulty + shift + np.repeat(rng.normal(size=30), 2)})]
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
