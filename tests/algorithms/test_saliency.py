from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.algorithms.saliency import align_saliency, gradient_weights, target_labels
from radrl.observations import INDEX

# "No pleural effusion", as a labeler and a policy may cut it
LABELER = np.array([[0, 2], [3, 10], [11, 14], [14, 19]])  # No, pleural, eff, usion
SALIENCY = [0.1, 0.4, 0.9, 0.2]
POLICY = np.array([[0, 2], [2, 6], [6, 10], [10, 19], [0, 0]])  # No, " ple", ural, " effusion", end token


@st.composite
def cuts(draw, length=30):
    """Spans of tokens that cover some of a text, in order."""
    edges = sorted(draw(st.sets(st.integers(0, length), min_size=2)))
    spans = list(pairwise(edges))
    return np.array(draw(st.lists(st.sampled_from(spans), unique=True).map(sorted)) or spans[:1])


@st.composite
def any_spans(draw, length=12):
    """Spans in any order that may be empty, overlap or repeat."""
    pairs = st.tuples(st.integers(0, length), st.integers(0, length)).map(sorted)
    return np.array(draw(st.lists(pairs, min_size=1, max_size=6)))


def scores_for(spans):
    return st.lists(st.floats(0, 100), min_size=len(spans), max_size=len(spans)).map(np.array)


def by_definition(labeler, saliency, policy):
    """Tokens overlap when they share a character."""
    aligned = np.zeros(len(policy))
    for (t, (a, b)), ((c, d), s) in product(enumerate(policy), zip(labeler, saliency, strict=True)):
        if max(a, c) < min(b, d):
            aligned[t] = max(aligned[t], s)
    return aligned


def test_by_hand():
    aligned = align_saliency(LABELER, SALIENCY, POLICY)
    assert aligned.tolist() == [0.1, 0.4, 0.4, 0.9, 0.0]
    np.testing.assert_allclose(gradient_weights(LABELER, SALIENCY, POLICY, beta=2), [1.2, 1.8, 1.8, 2.8, 1.0])


def test_targets_are_the_references_positive_labels():
    reference = np.zeros((1, 14), int)
    for name, said in {"Edema": 1, "Fracture": 2, "Pneumonia": 3, "No Finding": 1}.items():
        reference[0, INDEX[name]] = said
    edema, hedged, normal = (INDEX[name] for name in ("Edema", "Pneumonia", "No Finding"))
    assert np.flatnonzero(target_labels(reference)).tolist() == [edema, normal]
    both = target_labels(reference, uncertain_as_positive=True)
    assert np.flatnonzero(both).tolist() == [edema, hedged, normal]
    assert np.flatnonzero(target_labels(reference, no_finding=False)).tolist() == [edema]
    with pytest.raises(ValueError, match=r"give \(..., 14\)"):
        target_labels(reference[:, :13])


def test_normalised_by_hand():
    # max 0.9; mean (0.1 + 0.4 + 0.9 + 0.2) / 4 = 0.4
    by_max = gradient_weights(LABELER, SALIENCY, POLICY, normalise="max")
    np.testing.assert_allclose(by_max, [1 + 1 / 9, 1 + 4 / 9, 1 + 4 / 9, 2.0, 1.0])
    by_mean = gradient_weights(LABELER, SALIENCY, POLICY, normalise="mean")
    np.testing.assert_allclose(by_mean, [1.25, 2.0, 2.0, 3.25, 1.0])


def test_a_part_of_the_output_is_found_by_its_start():
    offset = len("<report>")
    whole = np.concatenate([[[0, offset]], POLICY[:4] + offset])
    assert align_saliency(LABELER + offset, SALIENCY, whole).tolist() == [0.0, 0.1, 0.4, 0.4, 0.9]


@given(any_spans(), any_spans(), st.data())
def test_equals_the_definition_for_any_spans(labeler, policy, data):
    saliency = data.draw(scores_for(labeler))
    np.testing.assert_array_equal(
        align_saliency(labeler, saliency, policy), by_definition(labeler, saliency, policy)
    )


@given(cuts(), st.data())
def test_the_same_spans_keep_their_saliencies(spans, data):
    saliency = data.draw(scores_for(spans))
    np.testing.assert_array_equal(align_saliency(spans, saliency, spans), saliency)


@given(cuts(), cuts(), st.data())
def test_a_finer_labeler_with_the_same_saliency_by_character_gives_the_same(labeler, policy, data):
    saliency = data.draw(scores_for(labeler))
    letters = np.array([[c, c + 1] for a, b in labeler for c in range(a, b)])
    by_letter = np.repeat(saliency, labeler[:, 1] - labeler[:, 0])
    np.testing.assert_array_equal(
        align_saliency(labeler, saliency, policy), align_saliency(letters, by_letter, policy)
    )


@given(cuts(), cuts(), st.data())
def test_cutting_the_policys_tokens_finer_loses_no_saliency(labeler, policy, data):
    saliency = data.draw(scores_for(labeler))
    whole = align_saliency(labeler, saliency, policy)
    for (start, end), expected in zip(policy, whole, strict=True):
        letters = np.array([[c, c + 1] for c in range(start, end)])
        assert align_saliency(labeler, saliency, letters).max() == expected


@given(cuts(), any_spans(), st.data(), st.floats(0, 10), st.sampled_from(["none", "max", "mean"]))
def test_weights_are_at_least_1_and_1_without_text(labeler, policy, data, beta, normalise):
    saliency = data.draw(scores_for(labeler))
    weights = gradient_weights(labeler, saliency, policy, beta=beta, normalise=normalise)
    assert np.all(weights >= 1)
    assert np.all(weights[policy[:, 0] == policy[:, 1]] == 1)


@given(cuts(), cuts(), st.data(), st.floats(1e-3, 1e3), st.sampled_from(["max", "mean"]))
def test_normalised_weights_do_not_depend_on_the_gradients_scale(labeler, policy, data, scale, normalise):
    saliency = data.draw(scores_for(labeler)).round(6)  # nothing so small that scaling it loses digits
    first, then = (
        gradient_weights(labeler, s, policy, normalise=normalise) for s in (saliency, saliency * scale)
    )
    np.testing.assert_allclose(first, then)


@pytest.mark.parametrize("normalise", ["none", "max", "mean"])
def test_no_positive_label_weighs_1(normalise):
    assert gradient_weights(LABELER, np.zeros(4), POLICY, normalise=normalise).tolist() == [1.0] * 5
    nothing = np.zeros((0, 2), int)  # an empty report
    assert gradient_weights(nothing, [], POLICY, normalise=normalise).tolist() == [1.0] * 5
    assert gradient_weights(LABELER, SALIENCY, nothing, normalise=normalise).shape == (0,)


def test_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="4 labeler_spans but 3 saliencies"):
        align_saliency(LABELER, SALIENCY[:3], POLICY)
    with pytest.raises(ValueError, match=r"policy_spans has \[5, 4\] at token 1"):
        align_saliency(LABELER, SALIENCY, np.array([[0, 1], [5, 4]]))
    with pytest.raises(ValueError, match=r"labeler_spans are float64"):
        align_saliency(LABELER * 1.0, SALIENCY, POLICY)
    with pytest.raises(ValueError, match="norms"):
        align_saliency(LABELER, [0.1, -0.4, 0.9, 0.2], POLICY)
    with pytest.raises(ValueError, match=r"saliency at \(1,\) is nan"):
        align_saliency(LABELER, [0.1, np.nan, 0.9, 0.2], POLICY)
    with pytest.raises(ValueError, match="beta is -1"):
        gradient_weights(LABELER, SALIENCY, POLICY, beta=-1)
    with pytest.raises(ValueError, match="valid: none, max, mean"):
        gradient_weights(LABELER, SALIENCY, POLICY, normalise="sum")
