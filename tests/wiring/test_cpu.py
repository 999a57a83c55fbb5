"""Each stage is given the CPU seconds of its own nodes, and the comparison those of the stages before it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from kedro.io import DataCatalog
from kedro.pipeline import node, pipeline
from kedro.pipeline.node import Node

from radrl.storage import cpu_seconds
from radrl.wiring import cpu
from radrl.wiring.cpu import CPU_SECONDS, CpuHooks


def work(given: object) -> object:
    return given


def made(stage: str, arm: str | None = None, outputs: str | None = "out") -> Node:
    (only,) = pipeline(
        [node(work, "given", outputs, name="work", tags=f"stage.{stage}")], namespace=arm
    ).nodes
    return only


@pytest.fixture
def hooks(tmp_path: Path) -> CpuHooks:
    hooks = CpuHooks()
    hooks.after_context_created(
        SimpleNamespace(
            config_loader={"globals": {"data": "data"}},
            project_path=tmp_path,
            params={"arms": {"grpo": {}}, "selection": {"own": {}}},
        )
    )
    return hooks


def test_seconds_go_to_the_stage_whose_nodes_ran(
    hooks: CpuHooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([3.0, 10.0, 11.0, 15.0])
    monkeypatch.setattr(cpu.cpu_seconds, "used", lambda: next(clock))
    for one in (
        made("train", "grpo"),  # from the process' start
        made("train", "grpo"),
        made("eval", "grpo"),  # 3.0: train has had 3
        made("eval", outputs=None),  # prints alone: of what ran before it
        made("train", "deer"),  # 10.0: eval has had 7
        made("train", "grpo"),  # 11.0: arms take turns
    ):
        hooks.before_node_run(one)
    hooks.after_pipeline_run()  # 15.0
    noted = cpu_seconds.read(tmp_path / "data" / cpu_seconds.FOLDER)
    assert noted == {"train@grpo": 3.0 + 4.0, "eval@grpo": 7.0, "train@deer": 1.0}


def test_the_comparison_is_not_told_its_own_of_another_time(hooks: CpuHooks, tmp_path: Path) -> None:
    folder = tmp_path / "data" / cpu_seconds.FOLDER
    for stage in ("label", "compare"):
        cpu_seconds.note(folder, stage, {cpu_seconds.OWN: 2.0})
    catalog = DataCatalog()
    hooks.after_catalog_created(catalog)
    assert catalog[CPU_SECONDS].load() == {"label": 2.0}


def test_the_comparison_is_not_told_of_arms_that_are_gone(hooks: CpuHooks, tmp_path: Path) -> None:
    folder = tmp_path / "data" / cpu_seconds.FOLDER
    for stage in ("code", "train@grpo", "train@former"):
        cpu_seconds.note(folder, stage, {cpu_seconds.OWN: 2.0})
    catalog = DataCatalog()
    hooks.after_catalog_created(catalog)
    assert catalog[CPU_SECONDS].load() == {"code": 2.0, "train@grpo": 2.0}
