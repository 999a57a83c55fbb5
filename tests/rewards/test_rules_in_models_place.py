"""Rewards by rules in RadGraph's and GREEN's place: by hand, their dial, and that they are the metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from radrl.parts.find import find
from radrl.rewards.build import build
from radrl.rewards.green_rules import GreenRules
from radrl.rewards.radgraph_rules import RadGraphRules
from radrl.scoring.rules import errors, graph

TRUTH = "Left pleural effusion. No pneumothorax."
PAIRS = (
    (TRUTH, TRUTH),
    (TRUTH, "Left pleural effusion."),
    (TRUTH, "Pleural effusion. No pneumothorax."),
    (TRUTH, "Pneumothorax."),
    (TRUTH, ""),
    ("", TRUTH),
)
WRITTEN = ["", " ", "the the the", "\x00\ud7ff", "No no no no.", "left " * 500, TRUTH * 40]


def test_radgraph_rules_by_hand(worth: Callable[..., list[float]]) -> None:
    # entities: effusion and pneumothorax are observations, left and pleural anatomy: 4, of which 3 are found
    short = (TRUTH, "Left pleural effusion.")
    f1 = 2 * 3 / (3 + 4)
    for level in ("simple", "partial", "complete"):
        assert worth(RadGraphRules(level=level), (TRUTH, TRUTH), short) == [1.0, pytest.approx(f1)]
    # left modifies pleural: without it pleural and effusion keep whether they relate, and to what
    unsided = (TRUTH, "Pleural effusion. No pneumothorax.")
    assert worth(RadGraphRules(level="complete"), unsided) == [pytest.approx(2 * 3 / (3 + 4))]
    assert worth(RadGraphRules(), *PAIRS[3:]) == [0.0, 0.0, 0.0]


def test_the_dial_of_radgraph_rules_weighs_recall_against_precision(
    worth: Callable[..., list[float]],
) -> None:
    less, more = (TRUTH, "Left pleural effusion."), ("Left pleural effusion.", TRUTH)
    # precision 1 and recall 3/4, then the other way round: 5PR / (4P + R)
    assert worth(RadGraphRules(beta=2.0), less, more) == [
        pytest.approx(5 * 0.75 / (4 + 0.75)),
        pytest.approx(5 * 0.75 / (3 + 1)),
    ]
    precise = worth(RadGraphRules(beta=0.5), less, more)
    assert precise[0] > worth(RadGraphRules(), less)[0] > precise[1]


def test_green_rules_by_hand(worth: Callable[..., list[float]]) -> None:
    reward = GreenRules()
    wrong = (TRUTH, "Right pleural effusion. No pneumothorax.")
    # both matched; one matched, the other at the wrong side; one matched, one missed, one false
    other = (TRUTH, "No pneumothorax. Cardiomegaly.")
    assert worth(reward, (TRUTH, TRUTH), wrong, other, (TRUTH, "")) == [1.0, 0.5, pytest.approx(1 / 3), 0.0]
    assert reward.told == {
        "matched": (2 + 1 + 1 + 0) / 4,
        "false_finding": 1 / 4,
        "missing_finding": (1 + 1) / 4,
        "wrong_location": 1 / 4,
        "wrong_severity": 0.0,
        "false_comparison": 0.0,
        "missing_comparison": 0.0,
    }


def test_they_are_the_metrics_report_by_report(worth: Callable[..., list[float]]) -> None:
    references, reports = zip(*PAIRS, strict=True)
    metric = graph.RadGraphRules().score(references, reports).per_report
    for level in ("simple", "partial", "complete"):
        assert worth(RadGraphRules(level=level), *PAIRS) == metric[f"radgraph_rules_{level}"].tolist()
    green = errors.GreenRules().score(references, reports).per_report["green_rules"]
    assert worth(GreenRules(), *PAIRS) == green.tolist()


def test_params_build_them(dictated: Any) -> None:
    settings = {"weight": 0.5, "level": "simple", "beta": 2.0}
    made = build({"radgraph_rules": settings, "green_rules": {"weight": 0.25}}, dictated)
    assert [part.weight for part in made.parts] == [0.5, 0.25]
    graphs, green = (made.score_part(part, [TRUTH], [TRUTH], ["film0"]) for part in made.parts)
    assert graphs == green == [1.0]
    section = find("reward", "radgraph_rules", settings).section
    for wrong in ({"level": "whole"}, {"beta": 0.0}):
        with pytest.raises(ValidationError, match=r"simple|greater than 0"):
            section.model_validate(wrong)


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("reward", [RadGraphRules(beta=2.0), GreenRules()], ids=lambda one: one.name)
def test_finite_for_whatever_a_policy_writes(
    worth: Callable[..., list[float]], reward: Any, text: str
) -> None:
    for score in worth(reward, (TRUTH, text), (text, TRUTH), (text, text)):
        assert 0 <= score <= 1
