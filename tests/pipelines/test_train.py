"""One arm's training as a stage."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from small_arms import Letters, train_inputs, train_stage

from radrl.training.checkpoints import last_checkpoint
from radrl.training.preflight import SettingsError
from radrl.training.reinforcement import arm as arms


@pytest.fixture
def inputs(
    small: dict[str, Any], make_corpus: Callable[..., ds.Dataset], policy_folder: Path, tmp_path: Path
) -> dict[str, Any]:
    return train_inputs(small, make_corpus(["train", "test"], studies=12), policy_folder, tmp_path)


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    from radrl.rewards.base import Part, RewardSum

    monkeypatch.setattr(arms, "build_reward", lambda *_, **__: RewardSum([Part(Letters(), weight=1.0)]))


@pytest.mark.parametrize("reward", [{}, {"reward": None}])
def test_arm_without_reward_hands_its_start_on(
    inputs: dict[str, Any],
    written: Callable[[Any], dict[str, bytes]],
    contents: Callable[[Path], dict[str, bytes]],
    policy_folder: Path,
    silent: Any,
    reward: dict[str, None],
) -> None:
    arm = {"start": "base", "selection": "full", **reward}
    writer, curve = train_stage(**inputs | {"arm": arm}, step_report=silent)
    assert written(writer) == contents(policy_folder)
    assert (curve.columns.tolist(), len(curve)) == (["step"], 0)


def test_killed_and_run_again_is_as_never_stopped(
    inputs: dict[str, Any],
    letters: None,
    written: Callable[[Any], dict[str, bytes]],
    contents: Callable[[Path], dict[str, bytes]],
    policy_folder: Path,
    killed: Any,
    silent: Any,
    tmp_path: Path,
) -> None:
    writer, curve = train_stage(**inputs, step_report=silent)
    there = inputs | {"workspace": tmp_path / "killed"}
    killed(train_stage, 3, **there)
    assert last_checkpoint(tmp_path / "killed") == tmp_path / "killed" / "checkpoint-2"
    resumed, resumed_curve = train_stage(**there, step_report=silent)
    trained = written(writer)
    assert written(resumed) == trained
    assert resumed_curve.equals(curve)
    assert curve["step"].tolist() == [1, 2, 3, 4]
    assert trained["model.safetensors"] != contents(policy_folder)["model.safetensors"]
    assert not (tmp_path / "killed").exists()


def test_arm_sees_its_subset_alone(
    inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch, silent: Any
) -> None:
    seen: list[str] = []
    original = arms.prompt_dataset

    def noting(films: Any, reports: Any, sample_ids: list[str], *rest: Any, **more: Any) -> Any:
        seen.extend(sample_ids)
        return original(films, reports, sample_ids, *rest, **more)

    monkeypatch.setattr(arms, "prompt_dataset", noting)
    train_stage(**inputs, step_report=silent)
    assert seen == ["train7_1", "train2_1", "train4_1"]


def test_validation_films_are_watched_and_belong_to_the_work(
    inputs: dict[str, Any], make_corpus: Callable[..., ds.Dataset], written: Any, silent: Any, tmp_path: Path
) -> None:
    corpus = make_corpus(["train", "val", "test"], studies=12)
    watch = {"every": 3, "films": 2, "metric": "sample14_f1", "patience": None, "keep": "last"}
    seeing = inputs | {"corpus": corpus, "training": inputs["training"] | {"watch": watch}}
    writer, curve = train_stage(**seeing, step_report=silent)
    looks = curve["watch/ce_rules_sample14_f1"].notna()
    assert curve["step"][looks].tolist() == [0, 3, 4]
    blind, _ = train_stage(**inputs | {"workspace": tmp_path / "blind"}, step_report=silent)
    assert written(writer) == written(blind)


def test_arms_own_training_wins_over_the_section(inputs: dict[str, Any], silent: Any) -> None:
    arm = inputs["arm"] | {"training": {"steps": 1}}
    _, curve = train_stage(**inputs | {"arm": arm}, step_report=silent)
    assert curve["step"].tolist() == [1]


def test_epochs_are_counted_in_the_arms_films_and_said(
    inputs: dict[str, Any], silent: Any, caplog: pytest.LogCaptureFixture
) -> None:
    arm = inputs["arm"] | {"training": {"epochs": 1.0}}  # three films by two, the section's steps put aside
    with caplog.at_level("INFO", logger="radrl.training.reinforcement.arm"):
        _, curve = train_stage(**inputs | {"arm": arm}, step_report=silent)
    assert curve["step"].tolist() == [1, 2]
    assert "2 updates of 3 films: 1.33 epochs" in caplog.text


def test_real_reward_is_in_the_curve(inputs: dict[str, Any], silent: Any) -> None:
    _, curve = train_stage(**inputs | {"training": inputs["training"] | {"steps": 1}}, step_report=silent)
    assert {"reward", "rewards/ce_f1/mean", "groups/zero_variance_share"} <= set(curve.columns)


@pytest.mark.parametrize("change", ["arm", "training", "prompts", "subset", "start", "seed"])
def test_checkpoints_of_other_work_are_not_used(
    inputs: dict[str, Any], policy_folder: Path, killed: Any, tmp_path: Path, change: str
) -> None:
    inputs["training"] = inputs["training"] | {"steps": 3, "checkpoint_every": 1}
    killed(train_stage, 2, **inputs)
    assert last_checkpoint(inputs["workspace"])
    other = tmp_path / "other"
    shutil.copytree(policy_folder, other)
    with (other / "tokenizer_config.json").open("a") as file:
        file.write(" ")
    changed = {
        "arm": inputs["arm"] | {"training": {"temperature": 0.5}},
        "training": inputs["training"] | {"kl": 0.5},
        "prompts": {"plain": "Describe.", "think_report": "Think."},
        "subset": inputs["subset"].iloc[::-1],
        "start": other,
        "seed": 1,
    }
    steps: list[int] = []
    train_stage(**inputs | {change: changed[change]}, step_report=lambda step, _: steps.append(step))
    assert steps[0] == 1


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"prompts_per_step": 4}, "subset has 3 films, a step takes 4; lower training.prompts_per_step"),
        ({"bf16": True}, "the arm's training.bf16 is true, but this GPU does not compute in bfloat16"),
        (
            {"tunes": "lora", "lora": {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": ["q_porj"]}},
            "the arm's training.lora.targets: 'q_porj' hits no linear layer of the policy",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_weights_are_loaded(
    inputs: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    silent: Any,
    training: dict[str, Any],
    message: str,
) -> None:
    import torch
    from transformers import utils

    monkeypatch.setattr(arms, "place", lambda _: torch.device("cuda"))  # which is not there
    monkeypatch.setattr(arms, "pin", lambda *_: None)
    monkeypatch.setattr(utils, "is_torch_bf16_gpu_available", lambda: False)
    monkeypatch.setattr("radrl.policy.folder.load", None)
    with pytest.raises(SettingsError, match=re.escape(message)):
        train_stage(**inputs | {"arm": inputs["arm"] | {"training": training}}, step_report=silent)
    assert not inputs["workspace"].exists()


@pytest.mark.parametrize("own", [{"patience": 5}, {"keep": "best"}])
def test_looks_that_decide_want_validation_films(
    inputs: dict[str, Any], make_corpus: Callable[..., ds.Dataset], silent: Any, own: dict[str, Any]
) -> None:
    watch = {"every": 3, "films": 2, "metric": "sample14_f1", "patience": None, "keep": "last"} | own
    blind = {"corpus": make_corpus(["train", "test"], studies=12)}
    with pytest.raises(SettingsError, match="no film in the split val: give it some"):
        train_stage(
            **inputs | blind | {"training": inputs["training"] | {"watch": watch}}, step_report=silent
        )
