"""FactS as a reward: by rules, and with facts that cannot be had."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.rewards.base import Part, RewardError, RewardSum
from radrl.rewards.facts import Facts
from radrl.scoring.facts import FactS, Failure
from radrl.scoring.facts.rules import RulesEntailment, RulesExtractor

BROKEN = "unreadable secret"


class Failing(RulesExtractor):
    """Has no facts of some reports."""

    def extract(self, reports: Sequence[str]) -> list[Any]:
        found = super().extract(reports)
        return [
            Failure("the answer is cut off") if report == BROKEN else facts
            for report, facts in zip(reports, found, strict=True)
        ]


def facts(**settings: Any) -> Facts:
    return Facts(RulesLabeler(), FactS(Failing(), RulesEntailment(uncertain_as_positive=False), **settings))


def test_by_hand(worth: Callable[..., Any]) -> None:
    reference = "Pulmonary edema. Pleural effusion."
    found = worth(facts(), (reference, reference), (reference, "Pulmonary edema."), (reference, "Fracture."))
    # beta 1.5: P 1 and R 1/2 give 3.25 * 0.5 / (2.25 + 0.5)
    assert found == [pytest.approx(1), pytest.approx(1.625 / 2.75), 0.0]


def test_is_named_after_who_judges() -> None:
    assert facts().name == "facts_rules"


def test_report_that_cannot_be_judged_is_named_by_its_film(worth: Callable[..., Any]) -> None:
    with pytest.raises(RewardError, match=r"report film1 has no facts_rules score: .*cut off") as caught:
        worth(facts(), ("Edema.", "Edema."), ("Edema.", BROKEN))
    assert "secret" not in str(caught.value)


def test_report_that_cannot_be_judged_is_missing_where_the_part_may_skip() -> None:
    part = Part(facts(missing="skip"), weight=1.0, missing="skip")
    reports = ["Edema.", BROKEN, ""]
    first, second, third = RewardSum([part]).score_part(part, reports, ["Edema."] * 3, ["a", "b", "c"])
    assert (first, third) == (pytest.approx(1), 0.0)
    assert math.isnan(second)


def test_judge_that_can_read_none_of_a_call_stops_the_run(worth: Callable[..., Any]) -> None:
    with pytest.raises(RewardError, match=r"report film0 has no facts_rules score.*2 of 2 reports"):
        worth(facts(missing="skip"), ("Edema.", BROKEN), ("Edema.", BROKEN))
