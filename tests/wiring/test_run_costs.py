"""Each stage is given its CPU seconds and where it ran; both are told beside the comparison page."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from kedro.io import DataCatalog
from kedro.pipeline import node, pipeline
from kedro.pipeline.node import Node

from kedro_repro import cpu_seconds
from radrl.datasets import HtmlPage
from radrl.pages import run_notes
from radrl.wiring import run_costs
from radrl.wiring.hooks import PAGE
from radrl.wiring.run_costs import FACTS, TRAINING, UNKNOWN, CpuHooks, Origin, cost, here, slots

SCRIPT = f'<script src="{run_notes.UNSEALED}"></script>'


def work(given: object) -> object:
    return given


def made(stage: str, arm: str | None = None, outputs: str | None = "out") -> Node:
    (only,) = pipeline(
        [node(work, "given", outputs, name="work", tags=f"stage.{stage}")], namespace=arm
    ).nodes
    return only


@pytest.fixture
def hooks(tmp_path: Path) -> CpuHooks:
    shutil.copy(Path(__file__).parents[2] / "pyproject.toml", tmp_path)
    hooks = CpuHooks()
    hooks.after_context_created(
        SimpleNamespace(
            config_loader={"globals": {"data": "data"}},
            project_path=tmp_path,
            params={"arms": {"grpo": {"reward": {"ce_f1": {}}}}, "selection": {"own": {}}},
        )
    )
    return hooks


def test_seconds_go_to_the_stage_whose_nodes_ran(
    hooks: CpuHooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([3.0, 10.0, 11.0, 15.0])
    monkeypatch.setattr(run_costs.cpu_seconds, "used", lambda: next(clock))
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


@pytest.fixture
def page(hooks: CpuHooks, tmp_path: Path) -> Path:
    """A comparison page that the run has saved."""
    file = tmp_path / "page.html"
    file.write_text(run_notes.sealed(f'<div id="{FACTS}"></div><p id="{TRAINING}"></p>{SCRIPT}'))
    hooks.after_catalog_created(DataCatalog({PAGE: HtmlPage(str(file))}))
    return file


def test_notes_lie_beside_the_page_and_tell_neither_its_own_cost_nor_of_arms_that_are_gone(
    hooks: CpuHooks, tmp_path: Path, page: Path
) -> None:
    spent, ran = tmp_path / "data" / cpu_seconds.FOLDER, tmp_path / "data" / run_costs.ORIGINS
    for stage in ("label", "train@grpo", "train@former", "compare"):
        cpu_seconds.note(spent, stage, {cpu_seconds.OWN: 120.0})
        run_costs.note_origin(ran, stage, Origin(f"at-{stage}", "another machine", {}, 1.0))
    before = page.read_bytes()
    hooks.after_dataset_saved("labels")
    assert not (tmp_path / "runs").exists()
    hooks.after_dataset_saved(PAGE)
    assert page.read_bytes() == before
    told = run_notes.with_notes(page)
    assert "4.0: label 2.0, train 2.0" in told
    assert "<td>at-train@grpo</td>" in told
    assert "@former" not in told
    assert "at-compare" not in told


def test_stages_of_the_same_run_are_told_with_what_they_took(
    hooks: CpuHooks, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([90.0, 120.0])
    monkeypatch.setattr(run_costs.cpu_seconds, "used", lambda: next(clock))
    hooks.before_node_run(made("train", "grpo"))
    hooks.before_node_run(made("compare"))  # 90.0
    hooks.after_dataset_saved(PAGE)  # 120.0
    assert "1.5: train 1.5" in run_notes.with_notes(page)


def test_each_stage_is_noted_with_its_minutes_of_the_clock(
    hooks: CpuHooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 60.0, 60.0, 90.0, 90.0, 120.0])
    monkeypatch.setattr(run_costs.time, "monotonic", lambda: next(clock))
    for one in (made("train", "grpo"), made("eval", "grpo"), made("train", "grpo")):
        hooks.before_node_run(one)
    hooks.after_pipeline_run()
    noted = run_costs.read_origins(tmp_path / "data" / run_costs.ORIGINS)
    assert {stage: own.minutes for stage, own in noted.items()} == {"eval@grpo": 0.5, "train@grpo": 1.5}
    assert all(own.machine and own.releases["Python"] for own in noted.values())
    assert {own.commit for own in noted.values()} == {""}  # a folder outside git


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


ARMS = {"sft": {"start": "base"}, "grpo": {"reward": {"ce_f1": {}}}}
HERE = Origin("0123456789+", "a processor, 2 cores", {"Python": "3.11.7", "torch": "2.9"})
RAN = Origin("abcdef0123", "a machine, 8 cores", {}, minutes=12.34)


def facts(html: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html))


def cells(html: str) -> list[list[str]]:
    return [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html, re.S)[1:]
    ]


def test_what_was_noted_is_told() -> None:
    told = slots(ARMS, {"label": 30.0, "train@grpo": 90.0}, {"compare": HERE, "train@grpo": RAN})
    # 30 s are 0.5 and 90 s 1.5 minutes
    assert facts(told[FACTS]) == {
        "Commit": "0123456789 with changes",
        "Releases": "Python 3.11.7, torch 2.9",
        "Machine": "a processor, 2 cores",
        "CPU minutes of the stages before this page, when each last ran here": "2.0: train 1.5, label 0.5",
        "Arms trained at": "abcdef0123",
        "Arms trained on": "a machine, 8 cores",
        "Wall time of an arm’s training": "12.3 minutes",
    }
    assert cells(told[TRAINING]) == [["grpo", "12.3", "1.5", "abcdef0123"]]


def test_what_nobody_noted_is_said() -> None:
    told = slots(ARMS, {}, {})
    assert set(facts(told[FACTS]).values()) == {UNKNOWN}
    assert cells(told[TRAINING]) == [["grpo", UNKNOWN, UNKNOWN, UNKNOWN]]


def test_where_no_arm_trains_nothing_is_told_of_trainings() -> None:
    told = slots({"sft": ARMS["sft"]}, {}, {"compare": HERE})
    assert not [name for name in facts(told[FACTS]) if name.startswith(("Arms", "Wall"))]
    assert cells(told[TRAINING]) == []


def test_the_cost_is_summed_by_group_the_most_first() -> None:
    # 60 s + 90 s of trainings are 2.5 minutes
    assert cost({"label": 30.0, "train@deer": 60.0, "train@grpo": 90.0}) == "3.0: train 2.5, label 0.5"


def test_markup_in_a_machines_name_is_text() -> None:
    told = slots({}, {}, {"compare": Origin("", "<script>a</script>")})
    assert "<script" not in told[FACTS]


def test_a_note_is_read_as_it_was_and_the_last_one_counts(tmp_path: Path) -> None:
    folder = tmp_path / "origins"
    assert run_costs.read_origins(folder) == {}
    last = Origin("abc+", "a machine", {"torch": "2.9"}, 1.5)
    run_costs.note_origin(folder, "train@grpo", Origin("old", "a machine"))
    run_costs.note_origin(folder, "train@grpo", last)
    run_costs.note_origin(folder, "label", Origin("abc", "a machine"))
    assert run_costs.read_origins(folder) == {"label": Origin("abc", "a machine"), "train@grpo": last}
    assert not [file for file in folder.iterdir() if file.suffix != ".json"]
