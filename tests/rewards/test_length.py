"""The length of a report as a reward: by hand, its bounds, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from pydantic import ValidationError

import radrl
from radrl.rewards.length import Length, LengthSection

TEN = " ".join(["word"] * 10)


def written(words: int) -> tuple[str, str]:
    """A reference of ten words, and a report of some."""
    return TEN, "word " * words


def test_in_shares_of_the_references_words(worth: Callable[..., list[float]]) -> None:
    reward = Length(least=0.8, most=1.25)
    assert worth(reward, *map(written, (0, 4, 8, 10, 12))) == [0.0, pytest.approx(0.5), 1.0, 1.0, 1.0]
    # 15 of 12.5 words: a fifth too many; 25 are twice the most
    assert worth(reward, *map(written, (15, 20, 25, 400))) == [
        pytest.approx(0.8),
        pytest.approx(0.4),
        0.0,
        0.0,
    ]
    assert reward.told == {"words": (15 + 20 + 25 + 400) / 4}


def test_in_words_whatever_the_reference(worth: Callable[..., list[float]]) -> None:
    reward = Length(unit="words", least=4, most=8)
    pairs = [("", "word " * words) for words in (0, 1, 4, 8, 10, 16, 17)]
    assert worth(reward, *pairs) == [0.0, 0.25, 1.0, 1.0, 0.75, 0.0, 0.0]


def test_without_a_lower_bound_no_report_is_too_short(worth: Callable[..., list[float]]) -> None:
    assert worth(Length(least=0.0, most=1.0), *map(written, (0, 10, 15))) == [1.0, 1.0, 0.5]


def test_reference_without_a_word_has_no_score(worth: Callable[..., list[float]]) -> None:
    none, some = worth(Length(), (" ", "word"), written(10))
    assert math.isnan(none)
    assert some == 1.0
    assert list(Length()([], [], [])) == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"least": 2.0}, "least is 2, above most, which is 1.25; swap them"),
        ({"unit": "words"}, "give both least and most, in words"),
        ({"unit": "words", "most": 60}, "give both least and most, in words"),
        ({"most": 0.0}, "greater than 0"),
        ({"unit": "tokens"}, "'share' or 'words'"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        LengthSection.model_validate(wrong)
    with pytest.raises(ValueError, match=told):
        radrl.rewards.get("length", **wrong)


def test_a_trainer_gets_it_and_its_numbers(worth: Callable[..., list[float]]) -> None:
    told: dict[str, float] = {}
    reward = radrl.rewards.get("length", unit="words", least=2, most=3)
    assert reward(None, ["a b c", "a"], reference=[TEN] * 2, log_metric=told.__setitem__) == [1.0, 0.5]
    assert told == {"rewards/length/words": 2.0}
