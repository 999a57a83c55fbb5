"""Rewards that wait are asked while the policy writes: by the order of events, and to the last bit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from datasets import Dataset
from small_arms import MIXING, TRAINING

from radrl.credit.uniform import Uniform
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardError, RewardSum
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.grpo import optimise
from radrl.training.reinforcement.oracle import Oracle
from radrl.training.reinforcement.reward_requests import RewardRequests, _Ends

Run = Callable[..., tuple[Policy, list[dict[str, float]]]]
LONG = {"max_new_tokens": 24}


class Letters:
    """A score of a report's letters, which waits or does not."""

    clinical = True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(
        self, *, waits: bool, name: str = "letters", before: Callable[[], None] | None = None
    ) -> None:
        self.name, self.waits, self._before = name, waits, before
        self.asked: list[list[str]] = []

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        self.asked.append(list(sample_ids))
        if self._before is not None:
            self._before()
        pairs = zip(reports, references, strict=True)
        return [sum(map(ord, report + reference)) % 97 / 97 for report, reference in pairs]


@pytest.fixture
def run(policy_folder: Path, prompts: Dataset, tmp_path: Path) -> Run:
    def train(
        *rewards: Any, workspace: str = "work", oracle: bool = False, **settings: Any
    ) -> tuple[Policy, list[dict[str, float]]]:
        policy = folder.load(policy_folder)
        return optimise(
            policy,
            prompts,
            reward=RewardSum([Part(own, 0.5) for own in rewards]),
            credit=Uniform(),
            oracle=Oracle(policy.processor.tokenizer, **MIXING) if oracle else None,
            settings=TRAINING | LONG | settings,
            seed=3,
            workspace=tmp_path / workspace,
        )

    return train


def two(waits: bool) -> list[Letters]:
    return [Letters(waits=waits), Letters(waits=False, name="here"), Letters(waits=waits, name="other")]


SETTINGS: list[dict[str, Any]] = [
    {},
    {"engine": "hf_bfloat16"},
    {"oracle": True},
    {"dynamic_sampling": {"mode": "redraw", "at_most": 1}},
    {"reward_sum": "normalised"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_numbers_and_weights_are_those_of_asking_one_after_another(
    run: Run, weights: Callable[[Any], Any], same: Callable[..., bool], settings: dict[str, Any]
) -> None:
    apart, curve = run(*two(False), workspace="apart", **settings)
    meanwhile, own_curve = run(*two(True), workspace="meanwhile", **settings)
    assert own_curve == curve
    assert same(weights(meanwhile), weights(apart))


def test_killed_and_resumed_is_as_never_stopped(
    run: Run, weights: Callable[[Any], Any], same: Callable[..., bool], killed_after: Callable[..., Any]
) -> None:
    unbroken, curve = run(*two(True), workspace="unbroken")
    with killed_after(grpo, step=2):
        run(*two(True), workspace="killed")
    resumed, resumed_curve = run(*two(True), workspace="killed")
    assert resumed_curve == curve
    assert same(weights(resumed), weights(unbroken))


@pytest.fixture
def all_written(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once the last rollout of a step is written, and not before."""
    event = threading.Event()

    class Noting(grpo.ReportGRPOTrainer):
        def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
            event.clear()
            found = super()._generate_single_turn(*args, **kwargs)
            event.set()
            return found

    monkeypatch.setattr(grpo, "ReportGRPOTrainer", Noting)
    return event


def test_the_policy_writes_on_before_the_scores_are_there(run: Run, all_written: threading.Event) -> None:
    """Scores that come only when all is written: who waited for them in between would wait for ever."""
    early: list[bool] = []

    def last() -> None:
        early.append(not all_written.is_set())
        assert all_written.wait(60)

    reward = Letters(waits=True, before=last)
    run(reward, steps=2)
    assert any(early)  # asked while others were being written
    assert sum(map(len, reward.asked)) == 2 * 8
    assert len(reward.asked) > 2


def test_each_rollout_is_asked_for_once_with_its_own_reference(run: Run) -> None:
    asked = {waits: Letters(waits=waits) for waits in (True, False)}
    for waits, reward in asked.items():
        run(reward, steps=1, workspace=f"{waits}")
    counted = {waits: sorted(name for part in own.asked for name in part) for waits, own in asked.items()}
    assert counted[True] == counted[False]
    assert len(asked[False].asked) == 1


def test_an_error_in_a_thread_stops_training_with_its_own_message(run: Run) -> None:
    def fail() -> None:
        raise RewardError("reward letters: the worker was killed by signal 9")

    with pytest.raises(RewardError, match=r"^reward letters: the worker was killed by signal 9$"):
        run(Letters(waits=True, before=fail))
    with pytest.raises(RewardError, match="letters is nan for film film"):
        run(NoNumber(waits=True), workspace="nan")


class NoNumber(Letters):
    def __call__(self, *given: Any) -> Sequence[float]:
        return [float("nan") for _ in super().__call__(*given)]


def test_rows_that_leave_the_batch_keep_their_places() -> None:
    """7 ends; a row that has ended stays for a token more, or leaves at once."""
    told: list[dict[int, list[int]]] = []
    watch = _Ends([7], told.append)
    assert watch(torch.tensor([[5, 1], [5, 7], [5, 2]]), None).tolist() == [False] * 3
    watch(torch.tensor([[5, 1, 7], [5, 7, 0], [5, 2, 3]]), None)
    watch(torch.tensor([[5, 7, 0, 0], [5, 2, 3, 4]]), None)
    watch(torch.tensor([[5, 2, 3, 4, 7]]), None)
    assert told == [{1: [7]}, {0: [1, 7]}, {2: [2, 3, 4, 7]}]


def test_without_a_reward_that_waits_nothing_is_watched() -> None:
    requests = RewardRequests(RewardSum([Part(Letters(waits=False), 1.0)]))
    model = object()
    with requests.watching(model, [7], str):
        assert not hasattr(model, "generate")
    requests.begin([{}])
    requests.finish(["text"])
    assert requests.any is False
