"""From the differences of several seeds to a verdict."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from radrl.studies.claims.verdict import ALPHA, Question, Verdict, answer, planned, with_training
from radrl.training.watching.levelling import State

SEEDS = 6


def around(mean, spread=0.01):
    """Six differences with exactly this mean and sample standard deviation."""
    given = np.array([-1.5, -0.7, -0.2, 0.3, 0.8, 1.3])
    return (mean + spread * (given - given.mean()) / given.std(ddof=1)).tolist()


def question(mean=0.0, *, spread=0.01, expects="more", margin=0.01, family="f", kin=None, expected=None):
    kin = kin or f"{mean} {spread}"  # on its own
    return Question(around(mean, spread), [0.001] * SEEDS, expects, margin, family, kin, expected)


def one(*given, **changed):
    return answer([question(*given, **changed)], level=0.95)[0]


def t_test(mean, spread=0.01):
    return 2 * stats.t.sf(abs(mean) / (spread / math.sqrt(SEEDS)), SEEDS - 1)


def test_above_is_supported_where_a_difference_of_nothing_is_ruled_out():
    found = one(0.03)
    assert found.verdict == Verdict.SUPPORTED
    assert found.p == pytest.approx(t_test(0.03))
    assert found.p_family == found.p
    assert found.pooled.low > 0
    assert found.pooled.difference == pytest.approx(0.03)


def test_above_is_contradicted_where_as_much_as_matters_is_ruled_out():
    found = one(-0.03)
    assert found.verdict == Verdict.CONTRADICTED
    assert found.p_family == 1.0
    assert found.p_contradicted == pytest.approx(t_test(-0.04))  # from 0.01, the least that matters
    # nothing at all, told precisely: 0.01 is ruled out, though 0 is not
    assert one(0.0, spread=0.002).verdict == Verdict.CONTRADICTED
    assert one(0.0, spread=0.002, margin=0.001).verdict == Verdict.OPEN


def test_neither_is_not_decidable():
    assert one(0.004).verdict == Verdict.OPEN
    assert one(0.001).verdict == Verdict.OPEN


def test_a_small_gain_told_precisely_is_supported():
    assert one(0.005, spread=0.001).verdict == Verdict.SUPPORTED


def test_as_good_is_supported_where_being_worse_by_what_matters_is_ruled_out():
    assert one(-0.002, spread=0.005, expects="as_much").verdict == Verdict.SUPPORTED
    assert one(-0.03, spread=0.005, expects="as_much").verdict == Verdict.CONTRADICTED
    assert one(-0.008, spread=0.01, expects="as_much").verdict == Verdict.OPEN
    assert one(-0.002, spread=0.005, expects="as_much").p == pytest.approx(t_test(0.008, 0.005))


def test_a_difference_on_the_wrong_side_has_no_small_p():
    assert one(-0.05).p == 1.0


def test_holm_corrects_within_a_family_and_no_further():
    given = [question(m, family=f) for m, f in ((0.012, "a"), (0.012, "b"), (0.001, "b"), (0.0005, "b"))]
    alone, first, *_ = answer(given, level=0.95)
    assert alone.p == first.p == alone.p_family
    assert first.p_family == pytest.approx(3 * first.p)
    assert (alone.verdict, first.verdict) == (Verdict.SUPPORTED, Verdict.OPEN)


def test_hypotheses_of_a_kind_share_what_is_known_of_the_spread():
    """One whose seeds agree by luck is not surer than the others' spread allows."""
    kin = [question(0.02, spread=s, kin="k") for s in (0.011, 0.009, 0.010, 0.012, 0.002)]
    lucky = answer(kin, level=0.95)[-1]
    assert lucky.pooled.error_by_seeds > 0.002 / math.sqrt(SEEDS)
    assert lucky.pooled.freedom > SEEDS - 1


def test_what_a_study_sees_is_seen_in_four_of_five():
    least = planned(0.01, SEEDS, 1)
    draws = np.random.default_rng(0).normal(least, 0.01, size=(4000, SEEDS))
    t = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / math.sqrt(SEEDS))
    assert np.mean(t > stats.t.isf(ALPHA / 2, SEEDS - 1)) == pytest.approx(0.8, abs=0.02)


def test_more_hypotheses_more_spread_and_fewer_seeds_see_less():
    assert planned(0.01, 6, 8) > planned(0.01, 6, 1)
    assert planned(0.02, 6, 1) == pytest.approx(2 * planned(0.01, 6, 1))
    assert planned(0.01, 3, 1) > 2 * planned(0.01, 6, 1)


def test_what_was_expected_stands_beside_what_was_found():
    found = one(0.0, expected=0.02)
    assert found.planned == pytest.approx(planned(0.02, SEEDS, 1))
    assert found.detectable == pytest.approx(planned(0.01, SEEDS, 1))
    assert one(0.0).planned is None


RISING, FALLING, LEVEL, UNKNOWN = State
SUPPORTED, CONTRADICTED, OPEN, STOPPED_EARLY = Verdict
ADDS = [(RISING, LEVEL), (RISING, None), (LEVEL, FALLING), (UNKNOWN, FALLING), (RISING, FALLING)]
"""How arm and row ended where more training can only add to the difference."""


@pytest.mark.parametrize(("arm", "over"), ADDS)
def test_what_more_training_could_overturn_was_stopped_early(arm, over):
    assert with_training(CONTRADICTED, arm, over) is STOPPED_EARLY
    assert with_training(OPEN, arm, over) is STOPPED_EARLY
    assert with_training(SUPPORTED, arm, over) is SUPPORTED


@pytest.mark.parametrize(("over", "arm"), ADDS)
def test_what_takes_from_the_difference_overturns_support_alone(arm, over):
    assert with_training(SUPPORTED, arm, over) is STOPPED_EARLY
    assert with_training(CONTRADICTED, arm, over) is CONTRADICTED
    assert with_training(OPEN, arm, over) is OPEN


@pytest.mark.parametrize("verdict", [SUPPORTED, CONTRADICTED, OPEN])
def test_rows_that_do_not_move_leave_every_verdict(verdict):
    for arm, over in itertools.product((LEVEL, UNKNOWN, None), repeat=2):
        assert with_training(verdict, arm, over) is verdict


@pytest.mark.parametrize("verdict", [SUPPORTED, CONTRADICTED, OPEN])
@pytest.mark.parametrize("both", [RISING, FALLING])
def test_two_that_move_alike_can_end_either_way(verdict, both):
    assert with_training(verdict, both, both) is STOPPED_EARLY
