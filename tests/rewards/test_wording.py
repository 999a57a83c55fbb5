"""Rewards for words in common, against values worked out by hand and against pycocoevalcap."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from radrl.rewards.bleu2 import Bleu2
from radrl.rewards.nlg import Nlg, TrainingCider
from radrl.scoring.nlg import PREPARATIONS, nlg_scores

TRAINING = ["no edema .", "no effusion .", "edema is seen ."]

# Of 3 references "no" and "edema" stand in 2, "effusion" in 1, "." in all. So unigrams of "no edema ." weigh
# a, a, 0 and of "no effusion ." a, b, 0 with a = log 3/2 and b = log 3; they share a * a. No longer n-gram is
# shared, there is no 4-gram, and the lengths are equal.
A, B = math.log(3 / 2), math.log(3)
CIDER = 10 / 4 * A * A / (math.sqrt(2 * A * A) * math.hypot(A, B))


@pytest.mark.parametrize(
    ("reference", "report", "expected"),
    [
        ("no acute process .", "no acute change .", 0.5),  # sqrt(3/4 * 1/3)
        ("small left pleural effusion", "left pleural", math.exp(-1)),  # brevity: exp(1 - 4/2)
        ("no edema .", "no edema .", 1.0),
        ("no edema .", "", 0.0),
    ],
)
def test_bleu2_by_hand(worth: Callable[..., Any], reference: str, report: str, expected: float) -> None:
    reward = Bleu2(preparation="whitespace")
    assert worth(reward, (reference, report)) == [pytest.approx(expected, abs=1e-7)]


def test_preparation_is_the_one_asked_for(worth: Callable[..., Any]) -> None:
    pair = ("No edema.", "no edema .")
    assert worth(Bleu2(preparation="basic"), pair) == [pytest.approx(1)]
    assert worth(Bleu2(preparation="whitespace"), pair)[0] < 0.1


@pytest.mark.parametrize("preparation", PREPARATIONS)
def test_a_blank_reference_has_no_score(worth: Callable[..., Any], preparation: str) -> None:
    for reward in (Bleu2(preparation=preparation), Nlg(TRAINING, preparation=preparation, bleu=4)):
        assert math.isnan(worth(reward, ("  \n", "no edema ."))[0])


def test_cider_by_hand() -> None:
    cider = TrainingCider(TRAINING)
    assert cider.score(["no edema ."], ["no effusion ."]) == [pytest.approx(CIDER)]
    assert cider.score(["no edema ."], ["no edema ."]) == [pytest.approx(7.5)]  # 3 of 4 orders are there


def test_cider_is_pycocoevalcaps_on_its_own_documents() -> None:
    reports = ["edema is seen .", "no effusion is seen .", "no edema"]
    expected = nlg_scores(TRAINING, reports, meteor=False).per_report["nlg_cider"]
    assert TrainingCider(TRAINING).score(TRAINING, reports) == pytest.approx(expected.tolist())


def test_cider_does_not_depend_on_the_batch_or_on_what_was_scored_before() -> None:
    cider = TrainingCider(TRAINING)
    together = cider.score(TRAINING * 3, ["no effusion ."] * 9)
    assert together[:3] * 3 == together
    assert [cider.score([text], ["no effusion ."])[0] for text in TRAINING] == together[:3]
    assert cider.score(["words never seen"], ["words never seen"]) == [pytest.approx(7.5)]
    assert cider.score(TRAINING, ["no effusion ."] * 3) == together[:3]


@pytest.mark.parametrize("count", [0, 1])
def test_cider_needs_references_to_count_in(count: int) -> None:
    with pytest.raises(ValueError, match=f"there are {count}; train on more films, or leave out"):
        Nlg(TRAINING[:count], preparation="whitespace", bleu=4)


def test_nlg_is_the_mean_of_three_by_hand(worth: Callable[..., Any]) -> None:
    reward = Nlg(TRAINING, preparation="whitespace", bleu=1)
    # 2 of 3 words are right, in order: BLEU-1 and ROUGE-L are 2/3
    assert worth(reward, ("no edema .", "no effusion .")) == [pytest.approx((2 / 3 + 2 / 3 + CIDER / 10) / 3)]
    assert reward.told == {
        "bleu1": pytest.approx(2 / 3),
        "rougel": pytest.approx(2 / 3),
        "cider": pytest.approx(CIDER / 10),
    }


def test_order_of_bleu_is_the_one_asked_for(worth: Callable[..., Any]) -> None:
    pair = ("no edema .", "no effusion .")  # no bigram in common
    first, second = (worth(Nlg(TRAINING, preparation="whitespace", bleu=n), pair)[0] for n in (1, 2))
    assert first - second == pytest.approx(2 / 3 / 3, abs=1e-6)


def test_reference_without_a_word_has_no_score(worth: Callable[..., Any]) -> None:
    pairs = (("", "no edema ."), ("no edema .", "no edema ."))
    for reward in (Bleu2(preparation="basic"), Nlg(TRAINING, preparation="basic", bleu=4)):
        none, some = worth(reward, *pairs)
        assert math.isnan(none)
        assert some > 0
    assert math.isnan(worth(reward, pairs[0])[0])
    assert reward.told == {}
