import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from radrl.algorithms.f_measure import f_beta, report_f1
from radrl.algorithms.facts import fact_precision_recall, fact_verdicts, facts_score

LABELS = hnp.arrays(np.int8, (2, 4, 14), elements=st.integers(0, 3))

# found, denied, passed over, made up, agreed absent, nothing on either side
REFERENCE = np.array([1, 1, 1, 2, 2, 0])
CLAIMED = np.array([1, 2, 0, 1, 2, 0])


def test_verdicts_by_hand():
    verdicts = fact_verdicts(REFERENCE, CLAIMED)
    assert np.flatnonzero(verdicts.entailed).tolist() == [0]
    assert np.flatnonzero(verdicts.missing).tolist() == [1, 2]
    assert np.flatnonzero(verdicts.unsupported).tolist() == [3]
    assert np.flatnonzero(verdicts.contradicted).tolist() == [1]


def test_verdicts_read_uncertain_as_told():
    reference, claimed = np.array([3, 1]), np.array([1, 3])
    plain = fact_verdicts(reference, claimed)
    assert plain.unsupported.tolist() == [True, False]
    assert plain.missing.tolist() == [False, True]
    assert fact_verdicts(reference, claimed, uncertain_as_positive=True).entailed.all()


def test_precision_and_recall_by_hand():
    # 1 found, 1 made up, 1 denied, 2 missing
    v = fact_verdicts(REFERENCE, CLAIMED)
    arguments = (v.entailed, v.contradicted, v.missing, v.unsupported)
    assert [float(x) for x in fact_precision_recall(*arguments)] == pytest.approx([1 / 3, 1 / 3])
    plain = fact_precision_recall(*arguments, contradiction_as_false_positive=False)
    assert [float(x) for x in plain] == pytest.approx([1 / 2, 1 / 3])


def test_contradictions_may_be_given_alone():
    flags = [[1, 0, 0, 0]], [[0, 1, 0, 0]], [[0, 0, 1, 0]]
    assert [x.tolist() for x in fact_precision_recall(*flags)] == [[0.5], [0.5]]


def test_precision_of_nothing_said_is_0_where_there_was_something_to_say():
    nothing, something = np.zeros(3), np.array([1, 0, 0])
    assert [float(x) for x in fact_precision_recall(nothing, nothing, something)] == [0.0, 0.0]
    assert [float(x) for x in fact_precision_recall(nothing, nothing, nothing, something)] == [0.0, 0.0]
    assert [float(x) for x in fact_precision_recall(nothing, nothing, nothing)] == [1.0, 1.0]


def test_zero_denominators():
    nothing = np.zeros((1, 3), int)
    something = np.array([[1, 0, 0]])
    assert facts_score(something, nothing).tolist() == [0.0]
    assert facts_score(nothing, something).tolist() == [0.0]
    assert facts_score(nothing, nothing).tolist() == pytest.approx([1.0])
    assert facts_score(nothing, nothing, both_empty=0.0).tolist() == [0.0]


def test_score_by_hand():
    # P = R = 1/3, so F is 1/3 whatever beta
    assert float(facts_score(REFERENCE, CLAIMED)) == pytest.approx(1 / 3, abs=1e-7)
    # P 1/2, R 1/3, beta 1.5: 3.25 / 6 / (2.25 / 2 + 1/3)
    score = facts_score(REFERENCE, CLAIMED, contradiction_as_false_positive=False)
    assert float(score) == pytest.approx(3.25 / 6 / (1.125 + 1 / 3), abs=1e-7)


@given(LABELS)
def test_without_contradictions_at_beta_1_it_is_the_reports_f1(labels):
    reference, claimed = labels
    score = facts_score(reference, claimed, beta=1.0, contradiction_as_false_positive=False)
    np.testing.assert_allclose(score, report_f1(reference, claimed), atol=1e-7)


@given(LABELS, st.booleans())
def test_score_is_bounded_and_0_exactly_without_a_true_positive(labels, reading):
    reference, claimed = labels
    score = facts_score(reference, claimed, uncertain_as_positive=reading, both_empty=0.0)
    assert np.all((score >= 0) & (score < 1))
    entailed = fact_verdicts(reference, claimed, uncertain_as_positive=reading).entailed.any(axis=-1)
    np.testing.assert_array_equal(score == 0, ~entailed)


@given(LABELS, st.integers(0, 13))
def test_denying_a_finding_is_never_better_than_passing_it_over(labels, label):
    reference, silent = labels[0].copy(), labels[1].copy()
    reference[:, label], silent[:, label] = 1, 0
    denying = silent.copy()
    denying[:, label] = 2
    assert np.all(facts_score(reference, denying) <= facts_score(reference, silent))


@given(LABELS)
def test_score_is_f_beta_of_precision_and_recall(labels):
    v = fact_verdicts(*labels)
    p, r = fact_precision_recall(v.entailed, v.contradicted, v.missing, v.unsupported)
    np.testing.assert_array_equal(facts_score(*labels, beta=2.0), f_beta(p, r, beta=2.0))


def test_refuses_unpaired_labels():
    with pytest.raises(ValueError, match=r"reference \(1, 14\), claimed \(2, 14\)"):
        fact_verdicts(np.zeros((1, 14), int), np.zeros((2, 14), int))
