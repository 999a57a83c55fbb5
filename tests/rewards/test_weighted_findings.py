"""Weighed findings as a reward: by hand, its dial and weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radrl.parts.find import find
from radrl.rewards.base import RewardError
from radrl.rewards.build import build
from radrl.rewards.weighted_findings import WeightedFindings

SICK = "Right pneumothorax. The heart is moderately enlarged."
NORMAL = "The lungs are clear. No pneumothorax."


def test_by_hand(worth: Callable[..., list[float]]) -> None:
    reward = WeightedFindings()
    # urgent 1 and not actionable 0.2: the pneumothorax missed of 1.2 + 0.2 and the rest
    found = worth(reward, (SICK, SICK), (SICK, "Moderate cardiomegaly. No pneumothorax."), (SICK, ""))
    assert found == [1.0, pytest.approx(1 - 1 / 2.4), 0.0]
    assert reward.told["missed_cost"] == pytest.approx((0 + 1 + 1.2) / 3)
    assert worth(reward, (NORMAL, NORMAL), (NORMAL, "No acute disease."), (NORMAL, "")) == [1.0, 1.0, 0.0]


def test_the_dial_and_the_weights(worth: Callable[..., list[float]]) -> None:
    # beta 2: a miss counts 1.6 times, a false finding 0.4 times
    recall = WeightedFindings(beta=2.0)
    assert worth(recall, (SICK, NORMAL), (NORMAL, SICK)) == [
        pytest.approx(1 - 1.92 / 2.92),
        pytest.approx(1 - 0.48 / 1.48),
    ]
    light = WeightedFindings(weights={"pneumothorax": 0.0})
    assert worth(light, (SICK, "Moderate cardiomegaly.")) == [1.0]


def test_weights_that_are_none_are_refused() -> None:
    with pytest.raises(RewardError, match="did you mean 'pneumothorax'"):
        WeightedFindings(weights={"pneumothorrax": 1.0})


def test_params_build_it(dictated: Any) -> None:
    settings = {"weight": 0.5, "beta": 2.0, "weights": {"granuloma": "urgent", "side": 0.5}}
    part = find("reward", "weighted_findings", settings)
    assert part.section.model_validate({"beta": 2.0, "weights": {"granuloma": "urgent", "side": 0.5}})
    made = build({"weighted_findings": settings}, dictated)
    scores = made.score_part(made.parts[0], [NORMAL], [SICK], ["film0"])
    assert scores == [pytest.approx(1 - 1.92 / 2.92)]
    assert made.parts[0].weight == 0.5


@pytest.mark.parametrize(
    "text", ["", " ", "the the the", "\x00\ud7ff", "No no no no.", "left " * 500, SICK * 40]
)
def test_finite_for_whatever_a_policy_writes(worth: Callable[..., list[float]], text: str) -> None:
    for score in worth(WeightedFindings(), (SICK, text), (NORMAL, text), ("", text)):
        assert 0 <= score <= 1


def test_a_file_of_weights(tmp_path: Path, worth: Callable[..., list[float]]) -> None:
    (tmp_path / "mine.csv").write_text("concept,weight\npneumothorax,0\n")
    assert worth(WeightedFindings(weights=str(tmp_path / "mine.csv")), (SICK, "Moderate cardiomegaly.")) == [
        1.0
    ]
