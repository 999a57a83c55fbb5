"""Sentences with other phrases in the places of their findings and cues."""

from __future__ import annotations

import numpy as np

from radrl.labelers.rules import findings
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.labelers.rules.lexicon import spelled
from radrl.labelers.rules.rewording import _JOINTS, _places, _plural, _spliced, reword
from radrl.labelers.rules.text import fold

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
    assert set(spelled(findings.SHADOWED)) & set(new)
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


def test_phrases_are_spelled_in_every_way() -> None:
    assert spelled("big? heart|cardiac size\nedema") == [
        "big heart size",
        "big cardiac size",
        "heart size",
        "cardiac size",
        "edema",
    ]
