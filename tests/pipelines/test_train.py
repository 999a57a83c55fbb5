"""One arm's training as a stage."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest

from radrl.pipelines.train.nodes import train_arm
from radrl.training import grpo
from radrl.training.resume import last_checkpoint

REWARD = {"ce_f1": {"weight": 1.0, "uncertain_as_positive": False, "both_empty": 1.0}}


class Letters:
    """Differs between any two reports of an untrained policy, in which no labeler finds anything."""

    name, clinical, reads = "letters", True, "report"
    told: Mapping[str, float] = {}

    def __call__(self, reports: list[str], references: list[str], sample_ids: list[str]) -> list[float]:
        return [sum(map(ord, report)) % 97 / 97 for report in reports]


@pytest.fixture
def inputs(
    small: dict[str, Any], make_corpus: Callable[..., ds.Dataset], policy_folder: Path, tmp_path: Path
) -> dict[str, Any]:
    return {
        "corpus": make_corpus(["train", "test"], studies=12),
        "start": policy_folder,
        "subset": pd.DataFrame({"sample_id": [f"train{i}_1" for i in (7, 2, 4)]}),
        "arm": {"start": "sft", "selection": "full", "reward": REWARD, "credit": "uniform", "oracle": "none"},
        "training": small["training"],
        "labeler": small["labeler"],
        "labeler_models": tmp_path / "labeler",
        "dtype": "float32",
        "prompt": small["prompt"],
        "seed": 0,
        "threads": 1,
        "workspace": tmp_path / "work",
    }


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    from radrl.rewards import build
    from radrl.rewards.base import Part, RewardSum

    monkeypatch.setattr(build, "build", lambda *_, **__: RewardSum([Part(Letters(), weight=1.0)]))


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
    writer, curve = train_arm(**inputs | {"arm": arm}, step_report=silent)
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
    writer, curve = train_arm(**inputs, step_report=silent)
    there = inputs | {"workspace": tmp_path / "killed"}
    killed(train_arm, 3, **there)
    assert last_checkpoint(tmp_path / "killed") == tmp_path / "killed" / "checkpoint-2"
    resumed, resumed_curve = train_arm(**there, step_report=silent)
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
    original = grpo.prompt_dataset

    def noting(films: Any, reports: Any, sample_ids: list[str], prompt: str) -> Any:
        seen.extend(sample_ids)
        return original(films, reports, sample_ids, prompt)

    monkeypatch.setattr(grpo, "prompt_dataset", noting)
    train_arm(**inputs, step_report=silent)
    assert seen == ["train7_1", "train2_1", "train4_1"]


def test_arms_own_training_wins_over_the_section(inputs: dict[str, Any], silent: Any) -> None:
    arm = inputs["arm"] | {"training": {"steps": 1}}
    _, curve = train_arm(**inputs | {"arm": arm}, step_report=silent)
    assert curve["step"].tolist() == [1]


def test_real_reward_is_in_the_curve(inputs: dict[str, Any], silent: Any) -> None:
    _, curve = train_arm(**inputs | {"training": inputs["training"] | {"steps": 1}}, step_report=silent)
    assert {"reward", "rewards/ce_f1/mean", "groups/zero_variance_share"} <= set(curve.columns)


@pytest.mark.parametrize("change", ["arm", "training", "prompt", "subset", "start", "seed"])
def test_checkpoints_of_other_work_are_not_used(
    inputs: dict[str, Any], policy_folder: Path, killed: Any, tmp_path: Path, change: str
) -> None:
    inputs["training"] = inputs["training"] | {"steps": 3, "checkpoint_every": 1}
    killed(train_arm, 2, **inputs)
    assert last_checkpoint(inputs["workspace"])
    other = tmp_path / "other"
    shutil.copytree(policy_folder, other)
    with (other / "tokenizer_config.json").open("a") as file:
        file.write(" ")
    changed = {
        "arm": inputs["arm"] | {"training": {"temperature": 0.5}},
        "training": inputs["training"] | {"kl": 0.5},
        "prompt": "Describe.",
        "subset": inputs["subset"].iloc[::-1],
        "start": other,
        "seed": 1,
    }
    steps: list[int] = []
    train_arm(**inputs | {change: changed[change]}, step_report=lambda step, _: steps.append(step))
    assert steps[0] == 1
