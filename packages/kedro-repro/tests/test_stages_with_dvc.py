"""Stages of a small project, run by DVC itself: the lock and outputs of `dvc repro`, failures, resumption."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kedro_repro.code_digests import CODE_FILE
from kedro_repro.programs import environment
from kedro_repro.schedule import StageFailed, run_stages
from kedro_repro.stage_graph import DvcError, out_of_date, stages, would_run
from kedro_repro.stage_runner import DvcStages

SCRIPT = """\
import pathlib, sys, time
name, *read = sys.argv[1:]
if pathlib.Path("slow").exists() and name == "b":
    pathlib.Path("working").touch()
    time.sleep(60)
text = " ".join(pathlib.Path(path).read_text() for path in read)
if pathlib.Path("broken").exists() and name == "b":
    sys.exit("the films are gone")
pathlib.Path(name).write_text(f"{name}({text})")
"""
BEFORE = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path / "project")


def make(folder: Path) -> Path:
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT)
    wiring = {
        name: {
            "cmd": f"{sys.executable} script.py {name} {' '.join(before)}",
            "deps": ["script.py", *before],
            "outs": [name],
        }
        for name, before in BEFORE.items()
    }
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": wiring}, sort_keys=False))
    dvc(folder, "init", "--no-scm", "--quiet")
    dvc(folder, "config", "core.analytics", "false")
    return folder


def dvc(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "dvc", *arguments], cwd=folder, check=True, env=environment())


class Told(list[str]):
    def running(self, times: object) -> None:
        pass

    def done(self, stage: str, seconds: float) -> None:
        self.append(stage)


def reproduce(folder: Path, *targets: str) -> list[str]:
    graph, told = stages(folder, targets), Told()
    run_stages(graph, out_of_date(folder, graph), DvcStages(folder, folder / "logs"), told, jobs=2)
    return told


def test_lock_and_outputs_are_those_of_dvc_repro(project: Path, tmp_path: Path) -> None:
    plain = make(tmp_path / "plain")
    dvc(plain, "repro", "--quiet")
    told = reproduce(project)
    assert (told[0], told[-1], sorted(told)) == ("a", "d", ["a", "b", "c", "d"])
    assert (project / "d").read_text() == (plain / "d").read_text() == "d(b(a()) c(a()))"
    both = [yaml.safe_load((folder / "dvc.lock").read_text()) for folder in (project, plain)]
    assert both[0] == both[1]
    assert reproduce(project) == []


def test_a_target_takes_what_it_needs(project: Path) -> None:
    assert stages(project, ["b"]) == {"a": set(), "b": {"a"}}
    assert reproduce(project, "b") == ["a", "b"]
    assert not (project / "d").exists()


def test_a_change_runs_what_comes_after_it(project: Path) -> None:
    reproduce(project)
    (project / "c").unlink()
    graph = stages(project)
    assert out_of_date(project, graph) == {"c", "d"}


def test_of_the_digests_of_code_a_stage_heeds_its_own(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage `code` writes them all; that it has others now runs nothing but whom they concern."""
    wiring = yaml.safe_load((project / "dvc.yaml").read_text())
    wiring["stages"]["code"] = {
        "cmd": "cp digests.yaml code.yaml",
        "always_changed": True,
        "outs": [{"code.yaml": {"cache": False}}],
    }
    for name in ("b", "c"):
        wiring["stages"][name]["params"] = [{"code.yaml": [name]}]
    (project / "dvc.yaml").write_text(yaml.safe_dump(wiring, sort_keys=False))
    digests = {"b": "1", "c": "1", "other": "1"}

    def digest(root: Path) -> None:
        for name in ("digests.yaml", "code.yaml"):
            (root / name).write_text(yaml.safe_dump(digests))

    monkeypatch.setattr("kedro_repro.stage_graph.digest_code", digest)
    digest(project)
    assert set(reproduce(project)) == {"a", "b", "c", "d", "code"}
    assert out_of_date(project, stages(project)) == set()
    digests["other"] = "2"
    assert out_of_date(project, stages(project)) == {"code"}
    digests["c"] = "2"
    assert out_of_date(project, stages(project)) == {"code", "c", "d"}


def test_what_would_run_is_what_runs_and_no_file_is_touched(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digests that lie there are of an earlier look, or not there: those of now count, unwritten."""
    wiring = yaml.safe_load((project / "dvc.yaml").read_text())
    wiring["stages"]["code"] = {
        "cmd": f"mkdir -p {CODE_FILE.parent} && cp digests.yaml {CODE_FILE}",
        "always_changed": True,
        "outs": [str(CODE_FILE)],
    }
    for name in ("b", "c"):
        wiring["stages"][name]["params"] = [{str(CODE_FILE): [f"of.{name}"]}]
    (project / "dvc.yaml").write_text(yaml.safe_dump(wiring, sort_keys=False))
    digests = {"of": {"b": "1", "c": "1"}, "other": "1"}

    def digest(root: Path) -> None:
        (root / CODE_FILE).parent.mkdir(parents=True, exist_ok=True)
        for name in ("digests.yaml", CODE_FILE):
            (root / name).write_text(yaml.safe_dump(digests))

    monkeypatch.setattr("kedro_repro.stage_graph.digest_code", digest)
    monkeypatch.setattr("kedro_repro.stage_graph.printed_digests", lambda root: yaml.safe_dump(digests))
    graph = stages(project)
    assert would_run(project, graph) == {"a", "b", "c", "d", "code"}
    digest(project)
    reproduce(project)
    assert would_run(project, graph) == set()
    before = standing(project)
    digests["other"] = "2"
    assert would_run(project, graph) == {"code"}
    digests["of"]["c"] = "2"
    assert would_run(project, graph) == {"code", "c", "d"}
    assert would_run(project, graph, ["b"]) == {"code", "b", "c", "d"}
    assert standing(project) == before
    digests["of"]["c"] = digests["other"] = "1"
    (project / CODE_FILE).unlink()
    assert would_run(project, graph) == set()  # written again it is what it was
    (project / "c").unlink()
    assert would_run(project, graph) == {"code", "c", "d"}


def standing(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of every file but DVC's own notes of who reads what now."""
    return {
        str(file.relative_to(folder)): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in folder.rglob("*")
        if file.is_file() and not file.is_relative_to(folder / ".dvc/tmp")
    }


def test_a_failure_shows_the_log_and_the_next_start_goes_on(project: Path) -> None:
    (project / "broken").touch()
    with pytest.raises(StageFailed, match=r"(?s)the stage b ended with .*films are gone.*start again"):
        reproduce(project)
    assert (project / "a").exists()
    assert not (project / "d").exists()
    (project / "broken").unlink()
    assert set(reproduce(project)) >= {"b", "d"}
    assert (project / "d").read_text() == "d(b(a()) c(a()))"


def test_an_unknown_stage_is_named(project: Path) -> None:
    with pytest.raises(DvcError, match=r"'nosuch' is no stage\. Stages: "):
        stages(project, ["nosuch"])


def test_a_stop_ends_the_command_and_leaves_a_whole_lock(project: Path) -> None:
    """DVC gets no signal: what ran beside is written down, and the next start finds it."""

    class Stopping(Told):
        def running(self, times: object) -> None:
            if (project / "working").exists() and "c" in self:
                raise KeyboardInterrupt

    (project / "slow").touch()
    graph = stages(project)
    runner, told = DvcStages(project, project / "logs"), Stopping()
    with pytest.raises(KeyboardInterrupt):
        run_stages(graph, set(graph), runner, told, jobs=2)
    lock = yaml.safe_load((project / "dvc.lock").read_text())
    assert set(lock["stages"]) == {"a", "c"}
    assert "failed to run" in runner.log("b").read_text()  # by DVC, which outlived its command
    (project / "slow").unlink()
    assert reproduce(project) == ["b", "d"]
