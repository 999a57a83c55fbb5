"""Every place that loads a policy refuses one whose weights are not all there, by file and tensor."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from damaged_weights import DAMAGES, damage, tensor
from recorded_vllm import RecordedVllm
from small_arms import train_inputs, train_stage

from radrl.errors import plain_words
from radrl.params.schema import validate
from radrl.pipelines.base_card import measure_base
from radrl.pipelines.ceilings import read_labels
from radrl.pipelines.generate import write_reports
from radrl.pipelines.label import label_reports
from radrl.pipelines.policy import make_base_policy
from radrl.pipelines.rollouts import sample_rollouts
from radrl.pipelines.sft import cold_start
from radrl.reporting import Reporter, arm_prompt
from radrl.storage.complete_weights import WeightsError
from radrl.wiring import served

Place = Callable[[Path], object]
RULES = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}
ONE = "layers.0.mlp.up_proj.weight"


def _silent(step: int, numbers: object) -> None:
    """Nobody looks at the numbers of these trainings."""


@pytest.fixture(params=DAMAGES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def damaged(policy_folder: Path, tmp_path: Path, kind: str) -> Path:
    target = tmp_path / "damaged"
    shutil.copytree(policy_folder, target)
    damage(*tensor(target, f"model.{ONE}"), kind)
    return target


@pytest.fixture
def places(small: dict[str, Any], make_corpus: Callable[..., ds.Dataset], tmp_path: Path) -> dict[str, Place]:
    """What is done with a policy's folder, by the name of the place."""
    corpus = make_corpus(["pretrain", "train", "val", "test"], studies=7)
    params = validate(small)
    own = {"seed": 0, "threads": 1, "device": "cpu"}
    asks = {"dtype": "float32", "prompt": small["prompts"]["plain"], **own}

    def pointed(folder: Path) -> None:
        settings = small["policy"] | {"path": str(folder)}
        writer, _ = make_base_policy(
            corpus,
            settings,
            "phantom",
            56,
            small["prompts"],
            **own,
            workspace=tmp_path / "w",
            step_report=_silent,
        )
        writer(tmp_path)

    def probed(folder: Path) -> None:
        probe = {"splits": ["train"], "films": 9, "inverse_regularisation": 0.05}
        settings = {"start": "sft", "network": None, "probe": probe}
        labels = label_reports(corpus, Path(), RULES)
        read_labels(corpus, labels, folder, folder, settings, "test", "rules", "float32", 0, 1, "cpu")

    def serves(folder: Path) -> None:
        data = tmp_path / "data"
        data.mkdir()
        folder.rename(data / served.POLICY)
        (data / served.ASKED).write_text(json.dumps(asdict(arm_prompt(params, "sft"))))
        (data / served.LABELER).write_text(json.dumps({"rules": RULES["rules"]}))
        served.Served(data)

    def trains(folder: Path) -> None:
        train_stage(**train_inputs(small, corpus, folder, tmp_path), step_report=_silent)

    return {
        "policy": pointed,
        "sft": lambda folder: cold_start(
            corpus, folder, small["sft"], **asks, workspace=tmp_path / "w", step_report=_silent
        ),
        "train": trains,
        "rollouts": lambda folder: list(
            sample_rollouts(corpus, folder, small["rollouts"], **asks, workspace=tmp_path / "w")
        ),
        "generate": lambda folder: write_reports(
            corpus, folder, small["generate"], dtype="float32", prompts=small["prompts"], **own
        ),
        "ceilings": probed,
        "base_card": lambda folder: measure_base(corpus, folder, small["prompts"], 8, RULES, **own),
        "report and rexrank": lambda folder: Reporter.open(folder, arm_prompt(params, "sft")),
        "served": serves,
    }


PLACES = (
    "policy",
    "sft",
    "train",
    "rollouts",
    "generate",
    "ceilings",
    "base_card",
    "report and rexrank",
    "served",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["gone", "nan"], indirect=True)
def test_a_place_that_loads_a_policy_refuses_it(
    place: str, kind: str, places: dict[str, Place], damaged: Path
) -> None:
    with pytest.raises(WeightsError) as refused:
        places[place](damaged)
    words = DAMAGES[kind][1].format(f"model.{ONE}")
    assert f": model.safetensors {words}. Copy the folder again" in str(refused.value)
    assert plain_words(refused.value) == str(refused.value)  # a stage ends on it without a traceback


def test_vllm_is_not_handed_it(
    policy_folder: Path, damaged: Path, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Any
) -> None:
    worker = RecordedVllm(policy_folder, tmp_path, monkeypatch)
    asks = arm_prompt(validate(small), "sft")
    with pytest.raises(WeightsError, match=r"model\.safetensors (lacks|has)"):
        Reporter.open(damaged, type(asks)(**asdict(asks) | {"engine": "vllm"}))
    assert not worker._log.exists()
