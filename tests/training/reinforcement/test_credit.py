"""Advantages spread over tokens, and what a step's record keeps of the weights."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.credit.base import Rollouts, TokenWeights, by_token, weight_numbers
from radrl.credit.uniform import Uniform

HALVES = TokenWeights(
    values=[np.array([1.5, 1.0]), np.array([2.0, 3.0, 1.0])],
    spans=[np.array([[0, 3], [3, 3]]), np.array([[0, 2], [2, 5], [5, 5]])],
)


def test_advantages_are_weighted_token_by_token_and_padding_keeps_its_own() -> None:
    spread = by_token([2.0, -0.5], HALVES, 4)
    assert spread.tolist() == [[3.0, 2.0, 2.0, 2.0], [-1.0, -1.5, -0.5, -0.5]]


def test_uniform_credit_is_the_reports_advantage_to_the_bit() -> None:
    advantages = np.random.default_rng(0).normal(size=6)
    rollouts = Rollouts([[1]] * 6, ["a"] * 6, ["b"] * 6, ["s"] * 6, 3)
    spread = by_token(advantages, Uniform().weigh(rollouts), 5)
    assert spread.tolist() == np.repeat(advantages[:, None], 5, axis=1).tolist()


def test_record_counts_tokens_of_text_alone() -> None:
    numbers = weight_numbers(HALVES.of_text())  # 1.5, 2 and 3: the ones are special tokens
    assert numbers == {
        "credit/weight_mean": pytest.approx(6.5 / 3),
        "credit/weight_max": 3.0,
        "credit/weight_share_above_1": 1.0,
        "credit/weight_p10": pytest.approx(1.6),
        "credit/weight_p50": 2.0,
        "credit/weight_p90": pytest.approx(2.8),
        "credit/weight_p99": pytest.approx(2.98),
    }
    assert weight_numbers([1.0, 1.0, 1.0, 2.0])["credit/weight_share_above_1"] == 0.25
    assert weight_numbers([]) == {}


@pytest.mark.parametrize(
    ("output", "form", "report", "start"),
    [
        ("A clear lung.", "plain", "A clear lung.", 0),
        ("<think>Hm.</think><report> \nClear.\n</report>", "think_report", "Clear.", 28),
        ("Clear.", "think_report", "", 6),
    ],
)
def test_report_lies_where_it_says(output: str, form: str, report: str, start: int) -> None:
    rollouts = Rollouts([[1]], [output], ["b"], ["s"], 1, form)
    assert (rollouts.reports, rollouts.report_starts) == ([report], [start])
    assert output[start:].startswith(report)
