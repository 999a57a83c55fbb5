import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from radrl.algorithms.f_measure import f_beta, positives, ratio, report_f1

PAIR = hnp.arrays(np.int8, st.tuples(st.just(2), st.integers(1, 6), st.just(14)), elements=st.integers(0, 3))


def test_positives_reads_uncertain_as_told():
    row = np.array([0, 1, 2, 3])
    assert positives(row).tolist() == [False, True, False, False]
    assert positives(row, uncertain_as_positive=True).tolist() == [False, True, False, True]


def test_positives_names_the_place_of_a_bad_class():
    with pytest.raises(ValueError, match=r"label at \(1, 0\) is 4"):
        positives(np.array([[0, 1], [4, 0]]))


def test_positives_refuses_floats():
    with pytest.raises(ValueError, match="integer class indices"):
        positives(np.array([0.5, 1.0]))


def test_ratio_gives_the_stated_value_for_zero_by_zero():
    assert ratio([1, 0], [2, 0], 1.0).tolist() == [0.5, 1.0]
    assert math.isnan(ratio(0, 0, math.nan))


def test_report_f1_by_hand():
    # report 1: TP 1, FP 1, FN 1 -> 2/4; report 2: TP 1, FN 2 -> 2/4; report 3: nothing in common
    reference = np.array([[1, 1, 0, 2], [1, 1, 1, 0], [1, 0, 0, 0]])
    hypothesis = np.array([[1, 0, 1, 2], [1, 2, 0, 0], [2, 1, 0, 0]])
    np.testing.assert_allclose(report_f1(reference, hypothesis), [0.5, 0.5, 0.0])


def test_report_f1_of_two_reports_without_a_positive_label_is_the_parameter():
    nothing = np.array([[0, 2, 0]])
    assert report_f1(nothing, nothing).tolist() == [1.0]
    assert report_f1(nothing, nothing, both_empty=0.0).tolist() == [0.0]
    # a wrong abnormal report must be worth less than the correct normal one
    assert report_f1(nothing, np.array([[1, 2, 0]])).tolist() == [0.0]


def test_report_f1_reads_uncertain_in_both_reports():
    reference, hypothesis = np.array([[3, 1]]), np.array([[1, 1]])
    np.testing.assert_allclose(report_f1(reference, hypothesis), [2 / 3])
    np.testing.assert_allclose(report_f1(reference, hypothesis, uncertain_as_positive=True), [1.0])


def test_report_f1_refuses_unpaired_rows():
    with pytest.raises(ValueError, match=r"\(2, 14\).*\(3, 14\)"):
        report_f1(np.zeros((2, 14), int), np.zeros((3, 14), int))


@given(PAIR)
def test_report_f1_is_symmetric_bounded_and_1_only_for_the_same_positives(pair):
    labels, other = pair
    f1 = report_f1(labels, other)
    np.testing.assert_array_equal(f1, report_f1(other, labels))
    assert np.all((f1 >= 0) & (f1 <= 1))
    np.testing.assert_array_equal(f1 == 1, (positives(labels) == positives(other)).all(axis=1))


def test_f_beta_by_hand():
    # beta 1.5: 3.25 * 0.5 * 1 / (2.25 * 0.5 + 1) = 1.625 / 2.125
    assert float(f_beta(0.5, 1.0)) == pytest.approx(1.625 / 2.125, abs=1e-7)
    assert float(f_beta(0.0, 0.0)) == 0.0


def test_f_beta_above_1_favours_recall():
    assert f_beta(0.4, 0.8, beta=2.0) > f_beta(0.8, 0.4, beta=2.0)


def test_f_beta_agrees_with_the_vectors(rl_math):
    for case in rl_math["orapo"]["f_beta_xi1e-8"]:
        assert float(f_beta(case["P"], case["R"], beta=case["beta"])) == pytest.approx(case["F"], abs=1e-12)


@pytest.mark.parametrize(("p", "r", "beta"), [(1.2, 0.5, 1.5), (0.5, math.nan, 1.5), (0.5, 0.5, 0.0)])
def test_f_beta_refuses_what_is_no_rate(p, r, beta):
    with pytest.raises(ValueError, match=r"outside \[0, 1\]|must be above 0"):
        f_beta(p, r, beta=beta)


def test_f_beta_refuses_one_wrong_rate_among_right_ones():
    with pytest.raises(ValueError, match=r"recall holds a value outside \[0, 1\]"):
        f_beta([0.5, 0.5], [0.5, -0.1])
