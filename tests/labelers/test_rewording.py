"""Texts made of others' sentences, and sentences with other words in the places of theirs."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.labelers.rules import SHADOWED
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.labelers.rules.phrases import spelled
from radrl.labelers.rules.rewording import (
    _JOINTS,
    _places,
    _plural,
    _spliced,
    draw_texts,
    rarity_weights,
    reword,
    sentences,
)
from radrl.labelers.rules.text import fold
from radrl.observations import INDEX, POSITIVE

SENTENCES = ["no pleural effusion or pneumothorax.", "the heart is mildly enlarged.", "views are frontal."]


def reworded(sentence: str, times: int = 400) -> list[str]:
    return reword([sentence] * times, rng=np.random.default_rng(0))


def test_only_what_changed_each_once() -> None:
    new = reword(SENTENCES * 30, rng=np.random.default_rng(0))
    assert len(new) > 30
    assert len(set(new)) == len(new)
    assert not set(new) & set(SENTENCES)


def test_marks_stay_where_they_are() -> None:
    new = reworded("opacity, which may be edema? size: unknown.")
    assert all(text.endswith(".") for text in new)
    assert all(text.count("?") >= 1 and text.count(",") >= 1 and text.count(":") >= 1 for text in new)


def test_words_outside_the_lexicon_give_way_to_one_another_alone() -> None:
    new = set(reworded("frontal views"))
    assert {"views views", "frontal frontal", "views frontal"} <= new
    assert not RulesLabeler().label(sorted(new))[:, :-1].any()


def test_some_words_are_blends() -> None:
    new = " ".join(reworded("frontal views")).split()
    blends = set(new) - {"frontal", "views"}
    assert any(word.startswith("fr") and word.endswith("ws") for word in blends)
    assert any(word.startswith("vi") and not word.endswith(("al", "ws")) for word in blends)


def test_some_sentences_go_on_as_another() -> None:
    one, two = "no left effusion.", "moderate edema, unchanged."
    places = {sentence: list(_places(sentence)) for sentence in (one, two)}
    rng = np.random.default_rng(0)
    new = {_spliced(one, two, places, rng) for _ in range(400)}
    fronts = ("no", "no left", "no left effusion")
    backs = ("moderate edema, unchanged.", "edema, unchanged.", "unchanged.")
    assert new == {f"{front}{joint}{back}" for front in fronts for joint in _JOINTS for back in backs}
    assert _spliced(one, one, places, rng) == one


def test_a_finding_gives_way_to_what_only_looks_like_one() -> None:
    new = reworded("effusion")
    assert {*map(" ".join, spelled(SHADOWED))} & set(new)
    labels = RulesLabeler().label(new)[:, :-1]
    assert 0.02 < (labels == 0).all(axis=1).mean() < 0.5


def test_cues_give_way_to_those_of_another_kind_that_reach_the_same_way() -> None:
    for sentence, said in (("no effusion.", {2, 3}), ("effusion not seen.", {1, 2, 3})):
        labels = RulesLabeler().label(reworded(sentence))[:, :-1]
        assert set(np.unique(labels)) == {0} | said


def test_plural_endings_are_those_the_rules_take_off() -> None:
    for phrase, plural in (("opacity", "opacities"), ("nodule", "nodules"), ("heart size", "heart sizes")):
        assert _plural(phrase) == plural
        assert fold(plural.split()[-1]) == phrase.split()[-1]
    assert _plural("mass") == "mass"  # "masss" would be a word of its own


def test_rewordings_reach_every_observation_and_class() -> None:
    new = reword(
        ["no effusion.", "possible edema.", "there is a nodule."] * 400, rng=np.random.default_rng(0)
    )
    labels = RulesLabeler().label(new)[:, :-1]
    assert (labels == 1).any(axis=0).all()
    assert {0, 1, 2, 3} == set(np.unique(labels))


def test_same_seed_same_rewordings() -> None:
    one, two = (reword(SENTENCES * 5, rng=np.random.default_rng(3)) for _ in range(2))
    assert one == two


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
