"""Experiments by `radrl repro` in their clones: started warm, ended whole, two at once."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import yaml

from kedro_repro.fork_server_process import WORTH
from kedro_repro.locks import alone
from kedro_repro.programs import DVC
from radrl.studies import repro
from radrl.studies.clones import out_of_date, prepare
from radrl.studies.execution import COMPARISON, GIVES, Experiment, StudyError, run_all
from radrl.studies.repro import Repro

from .conftest import commit

PARTS = ["one", "two"]
"""Stages before the comparison: with it enough for a warm server."""


@pytest.fixture
def staged(project: Path) -> Path:
    """The project of one script with stages before it that say whether a warm server runs."""
    wiring = yaml.safe_load((project / "dvc.yaml").read_text())
    for part in PARTS:
        cmd = f'echo "{part} by $KEDRO_REPRO_FORK_SERVER"; echo {part} > data/08_reporting/{part}'
        wiring["stages"][part] = {"cmd": cmd, "deps": ["data/01_raw"], "outs": [f"data/08_reporting/{part}"]}
        wiring["stages"]["compare"]["deps"].append(f"data/08_reporting/{part}")
    (project / "dvc.yaml").write_text(yaml.safe_dump(wiring))
    kept = project / "data" / "08_reporting" / ".gitkeep"
    kept.parent.mkdir()
    kept.touch()
    commit(project)
    assert len(PARTS) + 1 >= WORTH
    return project


def planned(project: Path, seed: int) -> Experiment:
    params = {"seed": seed, "device": "cpu"}
    one = Experiment("", seed, params, project / "data" / ".studies" / f"seed-{seed}")
    prepare(project, one.clone, params)
    return one


def run(project: Path, experiments: list[Experiment]) -> None:
    run_all(
        experiments,
        Repro(project, "study-trial"),
        prepare=lambda one: None,
        say=lambda line: None,
        jobs=len(experiments),
    )


def children() -> set[psutil.Process]:
    """This process' own, down to the last; other tests of the worker may have left some."""
    return {*psutil.Process().children(recursive=True)}


def alive(processes: set[psutil.Process]) -> list[psutil.Process]:
    """Those that still do something; one that has ended may wait for its parent to ask."""
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.skipif(sys.platform != "linux", reason="stages are forked on Linux alone")
def test_stages_start_warm_and_the_lock_is_that_of_dvc_repro(staged: Path) -> None:
    one = planned(staged, 1)
    plain = one.clone.with_name("plain")
    shutil.copytree(one.clone, plain, symlinks=True)
    run(staged, [one])
    said = one.log.read_text()
    assert set(re.findall(r"^(\w+) by /.*/socket$", said, re.MULTILINE)) == set(PARTS)
    subprocess.run([*DVC, "repro", "--quiet", "compare"], cwd=plain, check=True)
    assert (one.clone / COMPARISON).read_bytes() == (plain / COMPARISON).read_bytes()
    locks = [yaml.safe_load((folder / "dvc.lock").read_text()) for folder in (one.clone, plain)]
    assert locks[0] == locks[1]


@pytest.mark.skipif(sys.platform != "linux", reason="stages are forked on Linux alone")
def test_a_stop_ends_server_and_stages_and_the_next_start_goes_on(staged: Path) -> None:
    before, one = children(), planned(staged, 1)
    (one.clone / "slow").touch()
    runner = Repro(staged, "study-trial")
    with ThreadPoolExecutor() as pool:
        status = pool.submit(runner, one)
        while not (one.clone / "working").exists():
            assert not status.done(), one.log.read_text()
            time.sleep(0.1)
        started = children() - before
        assert any("kedro_repro.fork_server" in process.cmdline() for process in started)
        runner.stop()
        assert status.result(timeout=90)
    assert not alive(started)
    assert "stopped: finished stages are kept" in one.log.read_text()
    (one.clone / "slow").unlink()
    one.log.unlink()
    run(staged, [one])
    said = one.log.read_text()
    assert "Running stage 'compare'" in said
    assert "one by" not in said


def test_who_does_not_end_by_himself_is_killed_with_all_he_started(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = "trap '' TERM; touch working; sleep 60 & wait; sleep 60"
    monkeypatch.setattr(repro, "COMMAND", ("sh", "-c", deaf))
    monkeypatch.setattr(repro, "_PATIENCE", 0.5)
    before, one, runner = children(), planned(project, 1), Repro(project, "study-trial")
    with ThreadPoolExecutor() as pool:
        status = pool.submit(runner, one)
        while not (one.clone / "working").exists():
            time.sleep(0.05)
        started = children() - before
        runner.stop()
        assert status.result(timeout=60) == -9
    assert not alive(started)


def test_an_experiment_runs_up_to_its_study_s_stage(project: Path) -> None:
    """Neither to the comparison nor to what lies aside, which fails here."""
    wiring = yaml.safe_load((project / "dvc.yaml").read_text())
    outs = [str(path) for path in GIVES["analyses"]]
    looked = " && ".join(["mkdir -p data/08_reporting/analyses", *(f"echo a > {path}" for path in outs)])
    wiring["stages"]["analyses"] = {"cmd": looked, "deps": ["data/01_raw"], "outs": outs}
    (project / "dvc.yaml").write_text(yaml.safe_dump(wiring))
    commit(project)
    one = replace(planned(project, 1), stage="analyses")
    run(project, [one])
    assert [(one.clone / path).read_text() for path in outs] == ["a\n", "a\n"]
    assert not (one.clone / COMPARISON).exists()
    assert out_of_date(project, one.clone, one.params, one.stage) == []
    assert "compare" in (out_of_date(project, one.clone, one.params, "compare") or [])


def test_two_clones_run_at_once(project: Path) -> None:
    both = [planned(project, seed) for seed in (1, 2)]
    run(project, both)
    assert [(one.clone / COMPARISON).read_text()[-2] for one in both] == ["1", "2"]


def test_a_clone_that_is_at_work_is_named(project: Path) -> None:
    """As after a study that was killed with -9, whose last experiment goes on."""
    one = planned(project, 1)
    said = r"`radrl repro` in .* ended with 1(?s:.*)already running: another"
    with alone(one.clone / "build" / "repro", "radrl repro"), pytest.raises(StudyError, match=said):
        run(project, [one])
    run(project, [one])
