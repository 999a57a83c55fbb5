"""Texts made of others' sentences."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.observations import INDEX, POSITIVE
from radrl.reports.recombination import draw_texts, rarity_weights, sentences


def test_sentences_end_at_stops_and_lines() -> None:
    assert sentences("No effusion. The heart\nis  large; lungs are clear!\n\n 1.5 cm nodule") == [
        "No effusion.",
        "The heart",
        "is large;",
        "lungs are clear!",
        "1.5 cm nodule",
    ]
    assert sentences(" \n ") == []


def test_rare_findings_weigh_more_by_hand() -> None:
    labels = np.zeros((3, 14), dtype=np.int8)
    labels[0, INDEX["Edema"]] = POSITIVE
    labels[1, INDEX["Fracture"]] = POSITIVE
    counts = np.array([9, 1, 6])
    # edema is said 9 times, a fracture once; what mentions nothing is set against all 16 sentences
    expected = np.sqrt([9 / 9, 1 / 1, 6 / 16])
    np.testing.assert_allclose(rarity_weights(labels, counts), expected / expected.sum())


def test_texts_grow_and_follow_the_weights() -> None:
    weights = np.array([0.9, 0.1, 0.0])
    texts = draw_texts(weights, 4000, longest=8, rng=np.random.default_rng(0))
    lengths = np.array([len(text) for text in texts])
    assert (lengths.min(), lengths.max()) == (1, 8)
    assert lengths[:400].max() == 2  # ceil(8 * i / 3200) is at most 1 there, and two the least
    assert lengths[3200:].mean() == pytest.approx(4.5, abs=0.3)
    drawn = np.bincount(np.concatenate(texts), minlength=3)
    assert drawn[2] == 0
    assert drawn[0] / drawn.sum() == pytest.approx(0.9, abs=0.01)


def test_a_span_of_the_course_has_its_lengths() -> None:
    def longest(span: tuple[float, float]) -> int:
        texts = draw_texts(np.ones(1), 600, longest=8, rng=np.random.default_rng(0), span=span)
        return max(len(text) for text in texts)

    assert longest((0.0, 0.4)) == 4  # half of the growth
    assert longest((0.4, 0.6)) == 6
    texts = draw_texts(np.ones(1), 600, longest=6, rng=np.random.default_rng(0), span=(1.0, 1.0))
    assert np.mean([len(text) for text in texts[:200]]) == pytest.approx(3.5, abs=0.4)


def test_same_seed_same_texts_and_none_of_none() -> None:
    one, two, other = (
        draw_texts(np.full(5, 0.2), 50, longest=4, rng=np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    assert [text.tolist() for text in one] == [text.tolist() for text in two]
    assert [text.tolist() for text in one] != [text.tolist() for text in other]
    assert draw_texts(np.ones(1), 0, longest=3, rng=np.random.default_rng(0)) == []
