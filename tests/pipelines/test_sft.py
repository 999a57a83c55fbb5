"""The stage sft: a cold start that is a function of its inputs, killed or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from radrl.pipelines.sft import cold_start
from radrl.training.checkpoints import last_checkpoint
from radrl.training.preflight import SettingsError


@pytest.fixture
def inputs(
    small: dict[str, Any], make_corpus: Callable[..., ds.Dataset], policy_folder: Path, tmp_path: Path
) -> dict[str, Any]:
    return {
        "corpus": make_corpus(["pretrain", "train"], studies=12),
        "base": policy_folder,
        "settings": small["sft"],
        "dtype": "float32",
        "prompt": small["prompts"]["plain"],
        "seed": 0,
        "threads": 1,
        "device": "cpu",
        "workspace": tmp_path / "work",
    }


def test_killed_and_run_again_is_as_never_stopped(
    inputs: dict[str, Any],
    written: Callable[[Any], dict[str, bytes]],
    killed: Any,
    silent: Any,
    tmp_path: Path,
) -> None:
    writer, curve = cold_start(**inputs, step_report=silent)
    there = inputs | {"workspace": tmp_path / "killed"}
    killed(cold_start, 4, **there)
    assert last_checkpoint(tmp_path / "killed") == tmp_path / "killed" / "checkpoint-2"
    resumed, resumed_curve = cold_start(**there, step_report=silent)
    assert written(resumed) == written(writer)
    assert resumed_curve.equals(curve)
    assert not (tmp_path / "killed").exists()


@pytest.mark.parametrize("change", ["seed", "prompt", "settings", "films", "base"])
def test_checkpoints_of_other_work_are_not_used(
    inputs: dict[str, Any],
    make_corpus: Callable[..., ds.Dataset],
    films: Callable[..., list[bytes]],
    other_policy: Path,
    killed: Any,
    silent: Any,
    tmp_path: Path,
    change: str,
) -> None:
    killed(cold_start, 4, **inputs)
    changed = {
        "seed": 1,
        "prompt": "Describe.",
        "settings": inputs["settings"] | {"weight_decay": 0.5},
        "films": make_corpus(
            ["pretrain", "train"], studies=12, images=[[film] for film in films(24, seed=9)]
        ),  # of the same ids
        "base": other_policy,
    }[change]
    steps: list[int] = []
    key = "corpus" if change == "films" else change
    cold_start(**inputs | {key: changed}, step_report=lambda step, _: steps.append(step))
    assert steps[0] == 2  # from the start, not from the checkpoint of step 2


def test_checkpoints_of_the_same_work_are_used(inputs: dict[str, Any], killed: Any) -> None:
    killed(cold_start, 4, **inputs)
    steps: list[int] = []
    cold_start(**inputs, step_report=lambda step, _: steps.append(step))
    assert steps[0] == 4


def test_lora_target_that_names_no_layer_is_refused_before_weights_are_loaded(
    inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch, silent: Any
) -> None:
    monkeypatch.setattr("radrl.policy.folder.load", None)
    lora = inputs["settings"]["lora"] | {"targets": ["query"]}
    settings = inputs["settings"] | {"tunes": "lora", "lora": lora}
    with pytest.raises(SettingsError, match=r"^sft\.lora\.targets: 'query' hits no linear layer"):
        cold_start(**inputs | {"settings": settings}, step_report=silent)
