from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from radrl.algorithms.mccs import both_blank, chexbert_cosine, mccs, rescale_by_margin, signed_vectors
from radrl.observations import INDEX, NO_FINDING

PAIRS = hnp.arrays(np.int8, (2, 5, 14), elements=st.integers(0, 3))
MARGIN = st.floats(-0.99, 0.99)


def labels(**said):
    row = np.zeros(14, int)
    for name, index in said.items():
        row[INDEX[name.replace("_", " ")]] = index
    return row


def test_signs_by_hand():
    row = labels(Cardiomegaly=1, Edema=2, Pneumonia=3, No_Finding=1)
    vector = signed_vectors(row)
    assert vector.shape == (13,)
    assert {i: vector[i] for i in np.flatnonzero(vector)} == {
        INDEX["Cardiomegaly"]: 1.0,
        INDEX["Edema"]: -1.0,
        INDEX["Pneumonia"]: 1.0,
    }


def test_cosine_and_margin_by_hand():
    reference = labels(Cardiomegaly=1, Edema=2)
    hypothesis = labels(Cardiomegaly=3, Edema=2, Pneumothorax=2)
    # (1 + 1) / (sqrt 2 sqrt 3) = 0.8165; at m = 0.5: 0.633
    assert float(mccs(reference, hypothesis)) == pytest.approx(2 / sqrt(6), abs=1e-7)
    assert float(mccs(reference, hypothesis, margin=0.5)) == pytest.approx(2 * (2 / sqrt(6) - 0.5), abs=1e-7)
    assert float(mccs(labels(Edema=1), labels(Edema=2))) == 0.0


def test_agrees_with_the_vectors(rl_math):
    for case in rl_math["mccs"]:
        reference, hypothesis = np.array(case["ref"]), np.array(case["pred"])
        cosine = chexbert_cosine(signed_vectors(reference), signed_vectors(hypothesis))
        assert float(cosine) == pytest.approx(case["ccs"], abs=1e-12)
        for margin, expected in case["mccs"].items():
            found = mccs(reference, hypothesis, margin=float(margin))
            assert float(found) == pytest.approx(expected, abs=1e-12)


@given(PAIRS, MARGIN)
def test_is_symmetric_and_bounded(pair, margin):
    reference, hypothesis = pair
    reward = mccs(reference, hypothesis, margin=margin)
    np.testing.assert_array_equal(reward, mccs(hypothesis, reference, margin=margin))
    assert np.all((reward >= 0) & (reward <= 1))


@given(PAIRS, MARGIN)
def test_no_finding_does_not_count(pair, margin):
    changed = pair.copy()
    changed[..., NO_FINDING] = 1 - np.minimum(changed[..., NO_FINDING], 1)
    np.testing.assert_array_equal(mccs(*pair, margin=margin), mccs(*changed, margin=margin))


@given(PAIRS)
def test_1_for_the_same_signs_0_for_opposite_ones(pair):
    said = signed_vectors(pair[0]).any(axis=-1)
    np.testing.assert_allclose(mccs(pair[0], pair[0])[said], 1.0, atol=1e-7)
    opposite = np.array([0, 2, 1, 2])[pair[0]]
    assert not mccs(pair[0], opposite).any()


@given(hnp.arrays(np.float64, 6, elements=st.floats(-1, 1)), MARGIN)
def test_margin_keeps_the_order_and_cuts_at_m(cosine, margin):
    cosine = np.sort(cosine)
    reward = rescale_by_margin(cosine, margin=margin)
    assert np.all(np.diff(reward) >= 0)
    assert not reward[cosine <= margin].any()
    assert float(rescale_by_margin(1.0, margin=margin)) == 1.0


@given(PAIRS)
def test_stays_within_1_however_small_eps_is(pair):
    assert mccs(pair[0], pair[0], eps=1e-100).max() <= 1


def test_blank_pairs_earn_0_and_are_counted():
    normal, blank, edema = labels(No_Finding=1), labels(), labels(Edema=1)
    reference, hypothesis = np.stack([normal, blank, edema, edema]), np.stack([blank, blank, blank, edema])
    assert both_blank(reference, hypothesis).tolist() == [True, True, False, False]
    assert mccs(reference, hypothesis)[:2].tolist() == [0.0, 0.0]
    # a margin below 0 pays for saying nothing: 0.5 / 1.5
    assert mccs(reference, hypothesis, margin=-0.5)[:2].tolist() == pytest.approx([1 / 3, 1 / 3])


def test_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"give \(..., 14\)"):
        signed_vectors(np.zeros((2, 13), int))
    with pytest.raises(ValueError, match=r"label at \(0, 0\) is 4"):
        mccs(np.full((1, 14), 4), np.zeros((1, 14), int))
    with pytest.raises(ValueError, match=r"first \(1, 13\), second \(2, 13\)"):
        mccs(np.zeros((1, 14), int), np.zeros((2, 14), int))
    with pytest.raises(ValueError, match="margin is 1"):
        rescale_by_margin(0.5, margin=1.0)
    with pytest.raises(ValueError, match="eps is 0"):
        chexbert_cosine([1.0], [1.0], eps=0)
