"""Sums of rewards: finite, missing or raising, never silently 0; phases by the share of the steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from radrl.rewards.base import Part, RewardError, RewardSum

SECRET = "Mrs Doe has a nodule."


def score(part: Part, reports: Sequence[str] = ("a", "b", "c"), **settings: Any) -> list[float]:
    ids = [f"film{i}" for i in range(len(reports))]
    return RewardSum([part], **settings).score_part(part, reports, ["x"] * len(reports), ids)


def test_scores_pass_unchanged_as_floats(given: Callable[..., Any]) -> None:
    assert score(Part(given([1, 0.25, -3.0]), weight=2.0)) == [1.0, 0.25, -3.0]
    assert score(Part(given([]), weight=1.0), reports=()) == []


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -float("inf")])
def test_broken_score_names_part_and_film_and_not_the_text(given: Callable[..., Any], broken: float) -> None:
    part = Part(given([0.5, broken, 0.5]), weight=1.0)
    with pytest.raises(RewardError, match=rf"reward given is {broken} for film film1; .* missing") as caught:
        score(part, reports=[SECRET] * 3)
    assert "Doe" not in str(caught.value)


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -float("inf")])
def test_broken_score_is_missing_where_the_part_may_skip(given: Callable[..., Any], broken: float) -> None:
    first, second, third = score(Part(given([0.5, broken, 0.0]), weight=1.0, missing="skip"))
    assert (first, third) == (0.5, 0.0)
    assert math.isnan(second)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_wrong_count_of_scores_is_refused(given: Callable[..., Any], count: int) -> None:
    with pytest.raises(RewardError, match=f"reward given gave {count} scores for 3 reports"):
        score(Part(given([0.5] * count), weight=1.0))


OUTPUT = "<think>Large heart.</think> <report> Cardiomegaly. </report>"


@pytest.mark.parametrize(
    ("form", "reads", "seen"),
    [
        ("plain", "report", [OUTPUT, "Clear."]),
        ("think_report", "report", ["Cardiomegaly.", ""]),
        ("think_report", "output", [OUTPUT, "Clear."]),
    ],
)
def test_parts_are_shown_the_report_or_the_output(
    given: Callable[..., Any], form: str, reads: str, seen: list[str]
) -> None:
    reward = given([1.0, 0.0])
    reward.reads = reads
    score(Part(reward, weight=1.0), reports=[OUTPUT, "Clear."], output=form)
    assert reward.seen == [seen, ["x", "x"], ["film0", "film1"]]


def test_weights_by_hand_at_the_switch(given: Callable[..., Any]) -> None:
    parts = [
        Part(given([]), weight=1.0),
        Part(given([]), weight=0.25, phase_switch=0.5),
        Part(given([]), weight=0.1, first_weight=0.9, phase_switch=0.75),
    ]
    reward = RewardSum(parts)
    assert [part.has_phases for part in parts] == [False, True, True]
    assert [reward.weights(step / 8) for step in (0, 3, 4, 5, 6, 7)] == [
        [1.0, 0.0, 0.9],
        [1.0, 0.0, 0.9],
        [1.0, 0.25, 0.9],
        [1.0, 0.25, 0.9],
        [1.0, 0.25, 0.1],
        [1.0, 0.25, 0.1],
    ]
