"""Sums of rewards: finite or raising, never silently 0."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from radrl.rewards.base import RewardError, RewardSum


class Given:
    name, weight = "given", 1.0

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores = scores

    def __call__(self, reports: Sequence[str], references: Sequence[str]) -> Sequence[float]:
        return self.scores


def score(scores: Sequence[float], reports: Sequence[str] = ("a", "b", "c")) -> list[float]:
    part = Given(scores)
    return RewardSum([part]).score_part(
        part, reports, ["x"] * len(reports), [f"film{i}" for i in range(len(reports))]
    )


def test_scores_pass_unchanged_as_floats() -> None:
    assert score([1, 0.25, -3.0]) == [1.0, 0.25, -3.0]
    assert score([], reports=()) == []


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -float("inf")])
def test_broken_score_names_part_film_and_text(broken: float) -> None:
    with pytest.raises(RewardError, match=rf"reward given is {broken} for film film1: 'b'"):
        score([0.5, broken, 0.5])


def test_long_report_is_cut_in_the_message() -> None:
    with pytest.raises(RewardError) as caught:
        score([float("nan")], reports=["word " * 500])
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("count", [0, 2, 4])
def test_wrong_count_of_scores_is_refused(count: int) -> None:
    with pytest.raises(RewardError, match=f"reward given gave {count} scores for 3 reports"):
        score([0.5] * count)
