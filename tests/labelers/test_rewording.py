"""Sentences with other phrases in the places of their findings and cues."""

from __future__ import annotations

import numpy as np

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.labelers.rules.lexicon import spelled
from radrl.labelers.rules.rewording import reword

SENTENCES = ["no pleural effusion or pneumothorax.", "the heart is mildly enlarged.", "views are frontal."]


def test_what_is_no_phrase_stays() -> None:
    new = reword(SENTENCES * 30, rng=np.random.default_rng(0))
    assert len(new) > 30
    assert len(set(new)) == len(new)
    assert not set(new) & set(SENTENCES)
    # "or", "mildly" and the ends of sentences are neither findings nor denials
    assert all(" or " in text or "mildly" in text for text in new)
    assert all(text.endswith(".") for text in new)


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
