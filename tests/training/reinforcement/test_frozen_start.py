"""The frozen start on the host: it is there as it is asked, and a training is as with it on the device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from small_arms import MIXING, TRAINING, Thirds

from radrl.credit.uniform import Uniform
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardSum
from radrl.training.preflight import SettingsError
from radrl.training.reinforcement import frozen_start, grpo
from radrl.training.reinforcement.frozen_start import OnHost, check
from radrl.training.reinforcement.grpo import optimise
from radrl.training.reinforcement.oracle import Oracle

Run = Callable[..., tuple[Policy, list[dict[str, float]]]]
LORA = {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": ["model.language_model.layers.*.mlp.*_proj"]}


@pytest.fixture
def run(policy_folder: Path, prompts: Dataset, tmp_path: Path) -> Run:
    def train(
        workspace: str, *, oracle: Any = None, where: str = "host", **settings: Any
    ) -> tuple[Policy, list[dict[str, float]]]:
        policy = folder.load(policy_folder)
        return optimise(
            policy,
            prompts,
            reward=RewardSum([Part(Thirds(), 1.0)]),
            credit=Uniform(),
            oracle=Oracle(policy.processor.tokenizer, **oracle) if oracle else None,
            settings=TRAINING | {"steps": 3, "checkpoint_every": 1} | settings,
            seed=3,
            workspace=tmp_path / workspace,
            frozen_start=where,  # type: ignore[arg-type]
        )

    return train


@pytest.fixture
def askings(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """As each block of the host's begins, whether the weights were elsewhere before."""
    seen: list[bool] = []
    there = OnHost.there

    def noting(self: OnHost) -> Any:
        seen.append(all(weight.data_ptr() == own.data_ptr() for weight, own in _pairs(self)))
        return there(self)

    monkeypatch.setattr(OnHost, "there", noting)
    return seen


def _pairs(own: OnHost) -> Any:
    return zip(own.weights, own.kept, strict=True)


def test_weights_are_there_for_the_block_and_nowhere_else_after_it(policy_folder: Path) -> None:
    model = folder.load(policy_folder).model
    known = {name: weight.clone() for name, weight in model.state_dict().items()}
    own = OnHost(model)
    with own.there():
        assert not any(weight.data_ptr() == kept.data_ptr() for weight, kept in _pairs(own))
        assert all(torch.equal(weight, known[name]) for name, weight in model.state_dict().items())
    assert all(weight.data_ptr() == kept.data_ptr() for weight, kept in _pairs(own))
    assert all(torch.equal(weight, known[name]) for name, weight in model.state_dict().items())


def test_tied_weights_stay_tied() -> None:
    model = torch.nn.ModuleDict(
        {"words": torch.nn.Embedding(5, 3), "head": torch.nn.Linear(3, 5, bias=False)}
    )
    model["head"].weight = model["words"].weight
    own = OnHost(model)
    assert len(own.kept) == 1
    with own.there():
        assert model["head"].weight.data_ptr() == model["words"].weight.data_ptr()


@pytest.mark.parametrize("oracle", [None, MIXING], ids=["kl", "oracle"])
def test_a_training_is_the_same_to_the_bit(run: Run, askings: list[bool], oracle: Any) -> None:
    expected, curve = run("device", oracle=oracle, where="device")
    assert askings == []
    found, again = run("host", oracle=oracle)
    assert askings == [True] * 3  # once a batch, whatever it is asked for
    assert_same(found, expected)
    told = [name for name in curve[0] if "time" not in name and "runtime" not in name]
    assert [{name: row[name] for name in told} for row in again] == [
        {name: row[name] for name in told} for row in curve
    ]
    assert any(row["kl"] for row in again)


def test_killed_and_resumed_is_as_never_stopped(run: Run, killed_after: Callable[..., Any]) -> None:
    unbroken, _ = run("unbroken")
    with killed_after(grpo, step=2):
        run("killed")
    assert_same(run("killed")[0], unbroken)


def test_under_adapters_the_base_is_the_start_and_nothing_is_held(
    run: Run, askings: list[bool], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger=frozen_start.__name__):
        found, _ = run("host", tunes="lora", lora=LORA)
    assert "no frozen start is held" in caplog.text
    assert askings == []
    assert_same(found, run("device", tunes="lora", lora=LORA, where="device")[0])


def assert_same(found: Policy, expected: Policy) -> None:
    known = expected.model.state_dict()
    for name, weight in found.model.state_dict().items():
        assert torch.equal(weight, known[name]), name


class TestRefusals:
    def test_a_cpu_is_the_host(self) -> None:
        with pytest.raises(SettingsError, match=r"the CPU.*set compute\.frozen_start to device"):
            check("host", TRAINING, "cpu")

    def test_parts_of_the_weights(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
        with pytest.raises(SettingsError, match=r"FSDP.*compute\.frozen_start.*ddp\.yaml"):
            check("host", TRAINING, "cpu")

    def test_what_needs_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        check("device", TRAINING, "cpu")
        check("host", TRAINING | {"tunes": "lora"}, "cpu")
        monkeypatch.setattr(frozen_start, "place", lambda _: torch.device("cuda"))
        check("host", TRAINING, "cuda")
