"""A base in four bits: what it takes, what it rounds, and that what is handed on is what was trained."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from peft.tuners.lora import LoraLayer
from small_arms import TRAINING, Thirds

from radrl.credit.uniform import Uniform
from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardSum
from radrl.training import four_bit, preflight, tuning
from radrl.training.preflight import SettingsError
from radrl.training.reinforcement import grpo
from radrl.training.reinforcement.grpo import optimise

LANGUAGE = "model.language_model.layers.*"
TARGETS = [f"{LANGUAGE}.self_attn.*_proj", f"{LANGUAGE}.mlp.*_proj", "model.visual.blocks.*.mlp.*_proj"]
LORA: dict[str, Any] = {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": TARGETS, "quantise": "nf4"}
bitsandbytes = pytest.mark.usefixtures("installed")


@pytest.fixture
def installed() -> None:
    pytest.importorskip("bitsandbytes")


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(input_ids=torch.arange(1, 9)[None]).logits
    return found


def learnt(model: Any) -> Any:
    """Adapters that do something."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.05, generator=torch.Generator().manual_seed(len(name)))
    return model


@bitsandbytes
def test_the_language_models_layers_alone_are_rounded(policy: Policy) -> None:
    before = {name: weight.clone() for name, weight in policy.model.state_dict().items()}
    plain = logits(policy.model)
    four_bit.quantise(policy.model)
    rounded = {
        name.removesuffix(".weight")
        for name, weight in policy.model.named_parameters()
        if weight.dtype == torch.uint8
    }
    assert len(rounded) == 2 * 7
    assert all(name.startswith("model.language_model.layers.") for name in rounded)
    kept = {name: weight for name, weight in policy.model.named_parameters() if weight.dtype != torch.uint8}
    assert all(torch.equal(weight, before[name]) for name, weight in kept.items())
    assert 0 < (logits(policy.model) - plain).abs().max() < 0.5 * plain.abs().max()


@bitsandbytes
def test_a_rounded_weight_takes_about_half_a_byte(policy: Policy) -> None:
    layer = policy.model.model.language_model.layers[0].mlp.up_proj
    weights = layer.weight.numel()
    four_bit.quantise(policy.model)
    held = policy.model.model.language_model.layers[0].mlp.up_proj.weight
    assert held.numel() == -(-weights // 2)
    assert held.element_size() == 1


@bitsandbytes
@pytest.mark.parametrize("adapted", [False, True])
def test_plain_layers_compute_what_rounded_ones_did(policy: Policy, adapted: bool) -> None:
    if adapted:
        model = learnt(tuning.prepare(policy.model, "lora", LORA))
    else:
        model = policy.model
        four_bit.quantise(model)
    expected = logits(model)
    plain = tuning.finished(copy.deepcopy(model))
    assert not four_bit.is_quantised(plain)
    assert not [module for module in plain.modules() if isinstance(module, LoraLayer)]
    assert {weight.dtype for weight in plain.parameters()} == {torch.float32}
    torch.testing.assert_close(logits(plain), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(logits(model), expected, rtol=0, atol=0)  # the copy's layers are its own


@pytest.fixture
def run(policy_folder: Path, prompts: Dataset, tmp_path: Path) -> Callable[..., Any]:
    def train(workspace: str, **settings: Any) -> Any:
        return optimise(
            folder.load(policy_folder),
            prompts,
            reward=RewardSum([Part(Thirds(), 1.0)]),
            credit=Uniform(),
            settings=TRAINING
            | {"tunes": "lora", "lora": LORA, "checkpoint_every": 1, "learning_rate": 1e-2}
            | settings,
            seed=3,
            workspace=tmp_path / workspace,
        )

    return train


@bitsandbytes
def test_a_training_killed_and_resumed_is_as_never_stopped(
    run: Callable[..., Any], killed_after: Callable[..., Any], policy_folder: Path, tmp_path: Path
) -> None:
    unbroken, curve = run("unbroken")
    with killed_after(grpo, step=2):
        run("killed")
    resumed, again = run("killed")
    assert [row["reward"] for row in again] == [row["reward"] for row in curve]
    found, expected = resumed.model.state_dict(), unbroken.model.state_dict()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert any(row["grad_norm"] > 0 for row in curve)
    folder.save(resumed, tmp_path / "policy")
    again_loaded = folder.load(tmp_path / "policy")
    torch.testing.assert_close(logits(again_loaded.model), logits(unbroken.model), rtol=1e-5, atol=1e-5)
    base = folder.load(policy_folder).model
    four_bit.quantise(base)
    assert not torch.equal(logits(base), logits(unbroken.model))  # it learnt something


@bitsandbytes
def test_it_trains_under_autocast_with_layers_computed_again(run: Callable[..., Any]) -> None:
    _, curve = run("rounded", bf16=True, gradient_checkpointing=True)
    assert all(row["grad_norm"] > 0 for row in curve)


def test_without_the_library_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"training\.lora\.quantise is nf4, but bitsandbytes is not"):
        preflight.check_quantised(LORA, "training.lora")
    preflight.check_quantised(LORA | {"quantise": None}, "training.lora")


def test_weights_that_are_parted_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(SettingsError, match="FSDP, which cannot part weights in four bits"):
        preflight.check_quantised(LORA, "sft.lora")
