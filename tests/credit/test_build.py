"""A function as a credit: what it is handed, and what it may give."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from radrl.credit.base import Rollouts
from radrl.credit.build import FunctionMetric

Build = Callable[..., FunctionMetric]


@pytest.fixture
def credit(letters: Any) -> Build:
    def build(function: Any, **settings: Any) -> FunctionMetric:
        part: Any = SimpleNamespace(object=function, path="my_lab:own", settings=lambda given: dict(given))
        named: Any = "labeler {}".format
        return FunctionMetric(part, settings, letters, named)

    return build


@pytest.fixture
def rollouts(wrote: Callable[..., Rollouts]) -> Rollouts:
    return wrote("ab", "c", films=["x", "x"], group=2)


def test_function_is_handed_what_it_names_and_its_settings(credit: Build, rollouts: Rollouts) -> None:
    seen: list[Any] = []

    def own(rollouts: Any, spans: Any, labelers: Any, *, times: float) -> list[list[float]]:
        seen.extend([rollouts, [one.tolist() for one in spans], labelers("rules")])
        return [[times, 2.0], [3.0]]

    found = credit(own, times=1.5).weigh(rollouts)
    assert seen == [rollouts, [[[0, 1], [1, 2]], [[0, 1]]], "labeler rules"]
    assert [one.tolist() for one in found.values] == [[1.5, 2.0], [3.0]]
    assert [one.tolist() for one in found.spans] == [[[0, 1], [1, 2]], [[0, 1]]]

    few = credit(lambda rollouts: [[1.0] * len(ids) for ids in rollouts.ids]).weigh(rollouts)
    assert few.of_text() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "weights", [[[1.0, 1.0]], [[1.0], [1.0]], [[1.0, 1.0], [1.0, 1.0]], [[[1.0, 1.0]], [1.0]]]
)
def test_every_token_of_every_rollout_needs_a_weight(credit: Build, rollouts: Rollouts, weights: Any) -> None:
    with pytest.raises(ValueError, match="my_lab:own does not give every token of every rollout a weight"):
        credit(lambda rollouts: weights).weigh(rollouts)


def test_output_that_is_not_what_its_tokens_decode_to_is_named_by_its_film(credit: Build) -> None:
    other = Rollouts(ids=[[1], [2]], outputs=["a", "a"], references=["", ""], sample_ids=["x", "y"], group=1)
    with pytest.raises(ValueError, match="an output on film y is not what its tokens decode to"):
        credit(lambda rollouts: [[1.0], [1.0]]).weigh(other)
