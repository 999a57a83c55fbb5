import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from radrl.algorithms.masking import label_modification_ratio, mask_text, top_tokens

WEIGHTS = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=25),
    elements=st.sampled_from([1.0, 1.5, 2.0, 4.0]),
)


def rng():
    return np.random.default_rng(0)


def test_by_hand():
    weights = np.array([[1, 3, 2, 9, 9], [1, 1, 5, 1, 1]], float)
    counted = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    # 40 % of 3 tokens is 1.2: one; of 5: two, the second of them by chance
    top = top_tokens(weights, counted, share=0.4, rng=rng())
    assert top[0].tolist() == [False, True, False, False, False]
    assert top[1].sum() == 2
    assert top[1, 2]


@given(WEIGHTS, st.data(), st.floats(0.01, 1))
def test_takes_its_share_of_the_heaviest_counted_tokens(weights, data, share):
    counted = data.draw(hnp.arrays(np.bool_, weights.shape))
    top = top_tokens(weights, counted, share=share, rng=rng())
    assert not top[~counted].any()
    for row, text, chosen in zip(weights, counted, top, strict=True):
        n = text.sum()
        assert chosen.sum() == (max(1, round(share * n)) if n else 0)
        assert row[chosen].min(initial=9) >= row[text & ~chosen].max(initial=0)


def test_ties_fall_at_random_over_the_whole_report():
    weights, counted = np.ones((4000, 20)), np.ones((4000, 20))
    top = top_tokens(weights, counted, share=0.1, rng=rng())
    np.testing.assert_allclose(top.mean(axis=0), 0.1, atol=0.02)  # 4 standard errors of a share of 0.1
    np.testing.assert_array_equal(top, top_tokens(weights, counted, share=0.1, rng=rng()))


def test_modification_ratio_by_hand():
    before = np.array([[1, 0, 2], [1, 1, 0]])
    after = np.array([[1, 0, 0], [0, 1, 3]])  # negative to blank is no change of a diagnosis
    assert label_modification_ratio(before, after) == 0.5
    assert label_modification_ratio(before, after, unit="label") == pytest.approx(1 / 6)
    assert label_modification_ratio(before, after, unit="label", uncertain_as_positive=True) == pytest.approx(
        2 / 6
    )


@given(hnp.arrays(np.int8, (2, 5, 14), elements=st.integers(0, 3)))
def test_modification_ratio_is_a_share_and_0_only_for_the_same_diagnoses(labels):
    before, after = labels
    by_report, by_label = (label_modification_ratio(before, after, unit=unit) for unit in ("report", "label"))
    assert 0 <= by_label <= by_report <= 1
    assert (by_report == 0) == np.array_equal(before == 1, after == 1)
    assert label_modification_ratio(before, before) == 0


def test_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="share is 0"):
        top_tokens(np.ones((1, 2)), np.ones((1, 2)), share=0, rng=rng())
    with pytest.raises(ValueError, match=r"weights \(1, 2\), counted \(2,\)"):
        top_tokens(np.ones((1, 2)), np.ones(2), rng=rng())
    with pytest.raises(ValueError, match="valid: report, label"):
        label_modification_ratio(np.ones((1, 2), int), np.ones((1, 2), int), unit="study")
    with pytest.raises(ValueError, match="at least one report"):
        label_modification_ratio(np.ones((0, 14), int), np.ones((0, 14), int))
    with pytest.raises(ValueError, match=r"before \(1, 2\), after \(2, 2\)"):
        label_modification_ratio(np.ones((1, 2), int), np.ones((2, 2), int))


@pytest.mark.parametrize(
    ("replacement", "expected"),
    [("[MASK]", "The [MASK] is [MASK]large."), ("", "The  is large."), ("_", "The _ is _large.")],
)
def test_masked_tokens_are_replaced_by_hand(replacement, expected):
    text = "The heart is enlarge."  # tokens: The, heart, is, en, large, .
    spans = np.array([[0, 3], [3, 9], [9, 12], [12, 15], [15, 20], [20, 21]])
    masked = [False, True, False, True, False, False]
    assert mask_text(text, spans, masked, replacement=replacement) == expected


def test_a_character_that_tokens_share_goes_with_any_of_them():
    spans = np.array([[0, 1], [0, 1], [1, 2], [2, 2]])  # two bytes of one character, a letter, an end
    assert mask_text("é!", spans, [False, True, False, True], replacement="_") == "_!"
    assert mask_text("é!", spans, [True, True, False, False], replacement="_") == "_!"


@given(st.lists(st.text(max_size=4), max_size=12), st.data())
def test_what_is_not_masked_stays(tokens, data):
    ends = np.cumsum([0, *map(len, tokens)])
    spans = np.stack([ends[:-1], ends[1:]], axis=1)
    masked = data.draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    expected = [
        token if not chosen else token[: len(token) - len(token.lstrip())] + "#" * bool(token)
        for token, chosen in zip(tokens, masked, strict=True)
    ]
    assert mask_text("".join(tokens), spans, masked, replacement="#") == "".join(expected)


def test_masks_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"masked has shape \(1,\); give one Boolean for each of 2 tokens"):
        mask_text("ab", np.array([[0, 1], [1, 2]]), [True], replacement="")
