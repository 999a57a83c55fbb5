"""Supervised training on a policy of some thousand weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radrl.policy import folder
from radrl.policy.folder import Policy
from radrl.training.checkpoints import SEAL
from radrl.training.supervised import fine_tuning
from radrl.training.supervised.fine_tuning import Examples, fine_tune

Curve = list[dict[str, float]]
Run = Callable[..., tuple[Policy, Curve]]
Weights = dict[str, Any]
TARGETS = [f"model.language_model.layers.*.self_attn.{one}_proj" for one in "qv"]
SETTINGS: dict[str, Any] = {
    "epochs": 3,
    "batch_size": 2,
    "examples_at_once": 2,
    "learning_rate": 3e-3,
    "optimizer": "adamw",
    "warmup_share": 0.0,
    "weight_decay": 0.01,
    "gradient_clip": 1.0,
    "bf16": False,
    "max_tokens": 24,
    "checkpoint_every": 100,
    "lora": {"rank": 4, "alpha": 8, "dropout": 0.1, "targets": TARGETS},
}


@pytest.fixture
def run(
    policy_folder: Path,
    films: Callable[..., list[bytes]],
    texts: Callable[[int], list[str]],
    prompt: str,
    tmp_path: Path,
) -> Run:
    def train(
        *, tunes: str = "full", seed: int = 3, workspace: str = "work", **settings: Any
    ) -> tuple[Policy, Curve]:
        return fine_tune(
            folder.load(policy_folder),
            Examples.asking(prompt, [(film,) for film in films(6)], texts(6)),  # 3 steps an epoch
            settings=SETTINGS | settings,
            seed=seed,
            workspace=tmp_path / workspace,
            tunes=tunes,
        )

    return train


def moved(before: Weights, after: Weights) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name in before if not bool((before[name] == after[name]).all())}


def test_loss_falls(run: Run) -> None:
    _, curve = run(epochs=20, checkpoint_every=10)
    assert [row["step"] for row in curve] == [10, 20, 30, 40, 50, 60]
    assert curve[-1]["loss"] < 0.7 * curve[0]["loss"]


def test_cold_start_moves_the_vision_tower_and_not_one_bit_of_the_language_model(
    run: Run, weights: Callable[[Any], Weights], policy_folder: Path
) -> None:
    trained, _ = run(tunes="vision", epochs=1)
    names = moved(weights(policy_folder), weights(trained))
    assert names
    assert all(name.startswith("model.visual.") for name in names)
    assert any(name.startswith("model.visual.merger.") for name in names)  # the projector
    assert any(name.startswith("model.visual.blocks.0.") for name in names)  # the encoder


def test_language_moves_all_but_the_vision_tower(
    run: Run, weights: Callable[[Any], Weights], policy_folder: Path
) -> None:
    trained, _ = run(tunes="language", epochs=1)
    names = moved(weights(policy_folder), weights(trained))
    assert names
    assert not any(name.startswith("model.visual.") for name in names)


def test_tuning_nothing_is_refused(run: Run) -> None:
    with pytest.raises(ValueError, match="tunes: 'projector' leaves no weight of Qwen2_5_VL"):
        run(tunes="projector")


def test_full_moves_both(run: Run, weights: Callable[[Any], Weights], policy_folder: Path) -> None:
    trained, _ = run(epochs=1)
    names = moved(weights(policy_folder), weights(trained))
    assert {name.split(".")[1] for name in names if name != "lm_head.weight"} == {"visual", "language_model"}


def test_lora_moves_its_targets_alone_and_ends_as_a_plain_policy(
    run: Run,
    weights: Callable[[Any], Weights],
    same: Callable[..., bool],
    policy_folder: Path,
    tmp_path: Path,
) -> None:
    trained, _ = run(tunes="lora", epochs=1)
    names = moved(weights(policy_folder), weights(trained))
    layers = (0, 1)
    targets = {f"model.language_model.layers.{i}.self_attn.{t}_proj.weight" for i in layers for t in "qv"}
    assert names == targets
    (tmp_path / "policy").mkdir()
    folder.save(trained, tmp_path / "policy")
    assert same(weights(tmp_path / "policy"), weights(trained))


def test_same_seed_same_weights_and_another_seed_others(
    run: Run, weights: Callable[[Any], Weights], same: Callable[..., bool]
) -> None:
    import torch

    def trained(seed: int, workspace: str) -> Weights:
        torch.manual_seed(len(workspace))  # what ran before must not matter
        return weights(run(tunes="lora", epochs=1, seed=seed, workspace=workspace)[0])

    first = trained(3, "a")
    assert same(trained(3, "again"), first)
    assert not same(trained(4, "other"), first)


@pytest.mark.parametrize("tunes", ["full", "lora"])
@pytest.mark.parametrize("step", [2, 3, 4])  # within the first epoch, at its end, within the second
def test_killed_and_resumed_is_as_never_stopped(
    run: Run,
    weights: Callable[[Any], Weights],
    same: Callable[..., bool],
    killed_after: Callable[..., Any],
    tunes: str,
    step: int,
) -> None:
    unbroken, curve = run(tunes=tunes, checkpoint_every=step, workspace="unbroken")
    with killed_after(fine_tuning, step):
        run(tunes=tunes, checkpoint_every=step, workspace="killed")
    resumed, resumed_curve = run(tunes=tunes, checkpoint_every=step, workspace="killed")
    assert same(weights(resumed), weights(unbroken))
    assert resumed_curve == curve


@pytest.mark.parametrize("damage", ["half written", "a bit turned"])
def test_damaged_checkpoint_is_passed_over(
    run: Run,
    weights: Callable[[Any], Weights],
    same: Callable[..., bool],
    killed_after: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    damage: str,
) -> None:
    unbroken, _ = run(checkpoint_every=2, workspace="unbroken")
    with killed_after(fine_tuning, 4):
        run(checkpoint_every=2, workspace="killed")
    checkpoint = tmp_path / "killed" / "checkpoint-4"
    held = (checkpoint / "model.safetensors").read_bytes()
    if damage == "half written":
        (checkpoint / "model.safetensors").write_bytes(held[: len(held) // 2])
        (checkpoint / SEAL).unlink()
    else:
        (checkpoint / "model.safetensors").write_bytes(held[:-1] + bytes([held[-1] ^ 1]))
    resumed, _ = run(checkpoint_every=2, workspace="killed")
    assert same(weights(resumed), weights(unbroken))
    assert ("checkpoint-4 is passed over: model.safetensors" in caplog.text) == (damage == "a bit turned")


def test_curve_has_no_clock(run: Run) -> None:
    _, curve = run(epochs=1, checkpoint_every=1)
    assert set().union(*curve) == {"step", "loss", "grad_norm", "learning_rate", "epoch"}


def test_steps_are_reported_as_they_come(
    policy: Policy,
    films: Callable[..., list[bytes]],
    texts: Callable[[int], list[str]],
    prompt: str,
    tmp_path: Path,
) -> None:
    told: list[tuple[int, float]] = []
    _, curve = fine_tune(
        policy,
        Examples(
            [*((film,) for film in films(4)), films(2), films(1)],  # one is a study of two films
            [prompt] * 4 + ["Why?"] * 2,
            [*texts(4), *texts(2)],
        ),
        settings=SETTINGS | {"epochs": 1, "checkpoint_every": 1},
        seed=0,
        workspace=tmp_path,
        report=lambda step, row: told.append((step, row["loss"])) if "loss" in row else None,
    )
    assert told == [(row["step"], row["loss"]) for row in curve]
    assert [step for step, _ in told] == [1, 2, 3]  # six examples of both instructions
