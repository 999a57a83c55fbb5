from collections import Counter
from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.feature_extraction.text import TfidfTransformer

from radrl.algorithms.tf_idf import tf_idf, tf_idf_weights

PAD = 0
SHAPES = hnp.array_shapes(min_dims=3, max_dims=3, max_side=7)  # groups, rollouts, tokens
IDS = hnp.arrays(np.int64, SHAPES, elements=st.integers(0, 9))
TF, IDF = st.sampled_from(["relative", "raw"]), st.sampled_from(["plain", "smooth", "sklearn"])

# two rollouts of 4 and 2 tokens: 5 twice and 6, 7 in the first; 5, 8 in the second
BY_HAND = np.array([[5, 6, 5, 7], [5, 8, PAD, PAD]])


def by_definition(ids, counted, tf, idf):
    """The formulas of one group, token by token."""
    documents = [Counter(row[kept].tolist()) for row, kept in zip(ids, counted, strict=True)]
    score = np.zeros(ids.shape)
    for i, t in product(*map(range, ids.shape)):
        if not counted[i, t]:
            continue
        term, n = ids[i, t].item(), len(documents)
        d = sum(term in document for document in documents)
        frequency = documents[i][term] / (documents[i].total() if tf == "relative" else 1)
        smooth = log((1 + n) / (1 + d))
        score[i, t] = frequency * {"plain": log(n / d), "smooth": smooth, "sklearn": smooth + 1}[idf]
    return score


def test_by_hand():
    found = tf_idf(BY_HAND, BY_HAND != PAD)
    # 5 is in both: ln 1 = 0; 6 and 7 are a quarter of the first, 8 half of the second, each times ln 2
    np.testing.assert_allclose(found, [[0, log(2) / 4, 0, log(2) / 4], [0, log(2) / 2, 0, 0]])
    raw = tf_idf(BY_HAND, BY_HAND != PAD, tf="raw", idf="sklearn")
    once = log(3 / 2) + 1
    np.testing.assert_allclose(raw, [[2, once, 2, once], [1, once, 0, 0]])


def test_weights_at_the_papers_strength():
    """A word once in 60 tokens, in 1 of 8 rollouts: 1 + 4 ln 8 / 60, or without the length 1 + 4 ln 8."""
    ids = np.tile(np.arange(60), (8, 1))
    ids[3, 10] = 99
    everything = np.ones_like(ids)
    assert (
        tf_idf_weights(ids, everything)[3, 10]
        == pytest.approx(1 + 4 * log(8) / 60)
        == pytest.approx(1.1386, abs=1e-4)
    )
    assert tf_idf_weights(ids, everything, tf="raw")[3, 10] == pytest.approx(1 + 4 * log(8))
    # the 7 other rollouts' word there: 1 + 4 ln(8/7) / 60
    assert tf_idf_weights(ids, everything)[0, 10] == pytest.approx(1 + 4 * log(8 / 7) / 60)


def test_the_sklearn_form_is_sklearns():
    ids = np.random.default_rng(0).integers(0, 12, (6, 20))
    counts = np.array([np.bincount(row, minlength=12) for row in ids])
    theirs = TfidfTransformer(norm=None).fit_transform(counts).toarray()
    ours = tf_idf(ids, np.ones_like(ids), tf="raw", idf="sklearn")
    np.testing.assert_allclose(ours, np.take_along_axis(theirs, ids, axis=1))


@given(IDS, st.data(), TF, IDF)
def test_equals_the_plain_formulas_group_by_group(ids, data, tf, idf):
    counted = data.draw(hnp.arrays(np.bool_, ids.shape))
    found = tf_idf(ids, counted, tf=tf, idf=idf)
    for group in range(len(ids)):
        np.testing.assert_allclose(
            found[group], by_definition(ids[group], counted[group], tf, idf), atol=1e-12
        )


@given(IDS, st.data(), st.floats(0, 10), TF, IDF)
def test_weights_are_at_least_1_and_1_where_nothing_is_counted(ids, data, alpha, tf, idf):
    counted = data.draw(hnp.arrays(np.bool_, ids.shape))
    weights = tf_idf_weights(ids, counted, alpha=alpha, tf=tf, idf=idf)
    assert weights.min(initial=1) == 1 or weights.min() > 1
    assert np.all(weights[~counted] == 1)


@given(IDS, st.data(), TF, IDF)
def test_order_of_rollouts_does_not_matter(ids, data, tf, idf):
    order = data.draw(st.permutations(range(ids.shape[1])))
    counted = ids != PAD
    found = tf_idf(ids, counted, tf=tf, idf=idf)
    np.testing.assert_array_equal(tf_idf(ids[:, order], counted[:, order], tf=tf, idf=idf), found[:, order])


@given(IDS, st.integers(1, 4), TF, IDF)
def test_padding_changes_nothing(ids, more, tf, idf):
    padded = np.concatenate([ids, np.full((*ids.shape[:2], more), 3)], axis=-1)
    counted = np.concatenate([ids != PAD, np.zeros((*ids.shape[:2], more), bool)], axis=-1)
    found = tf_idf(padded, counted, tf=tf, idf=idf)
    np.testing.assert_array_equal(found[..., : ids.shape[-1]], tf_idf(ids, ids != PAD, tf=tf, idf=idf))


@given(
    hnp.arrays(np.int64, 6, elements=st.integers(0, 9)),
    st.integers(1, 8),
    TF,
    st.sampled_from(["plain", "smooth"]),
)
def test_what_all_rollouts_say_weighs_1(report, rollouts, tf, idf):
    ids = np.tile(report, (rollouts, 1))
    assert np.all(tf_idf_weights(ids, np.ones_like(ids), tf=tf, idf=idf) == 1)


def test_groups_know_nothing_of_each_other():
    ids = np.array([[[1, 2], [1, 3]], [[2, 4], [2, 1]]])
    together = tf_idf(ids, np.ones_like(ids))
    for group in range(2):
        np.testing.assert_array_equal(together[group], tf_idf(ids[group], np.ones_like(ids[group])))


def test_a_rollout_without_text_counts_as_one():
    ids = np.array([[5, 6], [PAD, PAD]])
    np.testing.assert_allclose(tf_idf(ids, ids != PAD), [[log(2) / 2] * 2, [0, 0]])
    assert not tf_idf(ids, np.zeros_like(ids)).any()


def test_takes_ids_as_large_as_they_come():
    ids = np.array([[2**40, 1], [2**40, 2**41]])
    np.testing.assert_allclose(tf_idf(ids, np.ones_like(ids)), [[0, log(2) / 2], [0, log(2) / 2]])


def test_refuses_unknown_forms_and_shapes():
    with pytest.raises(ValueError, match="unknown tf 'log'; valid: relative, raw"):
        tf_idf(BY_HAND, BY_HAND, tf="log")
    with pytest.raises(ValueError, match="unknown idf 'bm25'; valid: plain, smooth, sklearn"):
        tf_idf(BY_HAND, BY_HAND, idf="bm25")
    with pytest.raises(ValueError, match=r"\(2, 4\), counted \(2,\)"):
        tf_idf(BY_HAND, np.ones(2))
    with pytest.raises(ValueError, match="alpha is -1"):
        tf_idf_weights(BY_HAND, BY_HAND, alpha=-1)


def test_tokens_of_one_rollout_alone_are_refused():
    with pytest.raises(
        ValueError, match=r"token ids have shape \(3,\), counted \(3,\); give \(\.\.\., N, T\)"
    ):
        tf_idf(np.array([1, 2, 3]), np.ones(3, bool))
    with pytest.raises(ValueError, match=r"token ids have shape \(1, 3\), counted \(1, 2\)"):
        tf_idf(np.array([[1, 2, 3]]), np.ones((1, 2), bool))
