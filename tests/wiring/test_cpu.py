"""Each stage is given its CPU seconds and where it ran, and the comparison those of the stages before it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from kedro.io import DataCatalog
from kedro.pipeline import node, pipeline
from kedro.pipeline.node import Node

from radrl.storage import cpu_seconds, origins
from radrl.storage.origins import Origin
from radrl.wiring import cpu
from radrl.wiring.cpu import CPU_SECONDS, ORIGINS, CpuHooks
from radrl.wiring.origin import here


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


def test_each_stage_is_noted_with_its_minutes_of_the_clock(
    hooks: CpuHooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 60.0, 60.0, 90.0, 90.0, 120.0])
    monkeypatch.setattr(cpu.time, "monotonic", lambda: next(clock))
    for one in (made("train", "grpo"), made("eval", "grpo"), made("train", "grpo")):
        hooks.before_node_run(one)
    hooks.after_pipeline_run()
    noted = origins.read(tmp_path / "data" / origins.FOLDER)
    assert {stage: own.minutes for stage, own in noted.items()} == {"eval@grpo": 0.5, "train@grpo": 1.5}
    assert all(own.machine and own.releases["Python"] for own in noted.values())
    assert {own.commit for own in noted.values()} == {""}  # a folder outside git


def test_the_comparison_is_told_where_stages_ran_and_where_it_runs(hooks: CpuHooks, tmp_path: Path) -> None:
    folder = tmp_path / "data" / origins.FOLDER
    for stage in ("train@grpo", "train@former", "compare"):
        origins.note(folder, stage, Origin("abc", "another machine", {}, 1.0))
    catalog = DataCatalog()
    hooks.after_catalog_created(catalog)
    told = catalog[ORIGINS].load()
    assert told.keys() == {"train@grpo", "compare"}
    assert told["train@grpo"].machine == "another machine"
    assert told["compare"].machine != "another machine"
    assert told["compare"].minutes is None


def test_changed_files_are_said_and_the_lock_is_no_change(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        known = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", *known, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q")
    for name in ("code.py", "dvc.lock"):
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "-qm", "first")
    commit = git("rev-parse", "HEAD")[:10]
    (tmp_path / "dvc.lock").write_text("2")
    assert here(tmp_path).commit == commit
    (tmp_path / "code.py").write_text("2")
    assert here(tmp_path).commit == f"{commit}+"
