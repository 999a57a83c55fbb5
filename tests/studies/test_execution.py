"""The order of experiments, failures and resumption, with a runner that only pretends."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import yaml

from kedro_repro.fork_server_process import WORTH
from kedro_repro.locks import alone
from kedro_repro.programs import DVC, duration
from radrl.studies import execution
from radrl.studies.clones import out_of_date, prepare
from radrl.studies.execution import (
    COMPARISON,
    GIVES,
    MASKING,
    Experiment,
    Repro,
    StudyError,
    collect,
    experiments,
    run_all,
)

from .conftest import commit


class Pretended:
    """Writes a comparison, or fails where it is told to; notes what it was asked for."""

    def __init__(self, failing: tuple[str, ...] = ()) -> None:
        self.failing, self.asked, self.ended = failing, list[str](), threading.Event()

    def __call__(self, experiment: Experiment) -> int:
        self.asked.append(experiment.title)
        if experiment.title in self.failing:
            with experiment.log.open("a") as log:
                log.write("".join(f"line {i}\n" for i in range(30)) + "no space left\n")
            return 1
        target = experiment.clone / COMPARISON
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"arm,kind,metric,value\nsft,arm,f1,{experiment.seed}\n")
        return 0

    def stop(self) -> None:
        self.ended.set()


@pytest.fixture
def planned(tmp_path: Path) -> list[Experiment]:
    return experiments(
        {"few": {"seed": 9, "threads": 1}, "many": {"seed": 9, "threads": 2}}, [3, 4], tmp_path
    )


@pytest.fixture
def start(planned: list[Experiment]) -> Callable[..., list[str]]:
    def run(runner: Pretended, *, jobs: int = 1) -> list[str]:
        said: list[str] = []
        run_all(planned, runner, prepare=lambda one: None, say=said.append, jobs=jobs)
        return said

    return run


def test_a_seeds_runs_follow_one_another(planned: list[Experiment], tmp_path: Path) -> None:
    assert [one.title for one in planned] == [
        "few, seed 3",
        "many, seed 3",
        "few, seed 4",
        "many, seed 4",
    ]
    assert planned[1].params == {"seed": 3, "threads": 2}
    assert planned[1].clone == tmp_path / "many-seed-3"
    assert planned[1].log == tmp_path / "many-seed-3.log"
    assert experiments({"": {}}, [0], tmp_path)[0].clone == tmp_path / "seed-0"


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_are_run_and_said(start: Callable[..., list[str]], planned: list[Experiment], jobs: int) -> None:
    runner = Pretended()
    said = start(runner, jobs=jobs)
    assert sorted(runner.asked) == sorted(one.title for one in planned)
    done = [line for line in said if "done in" in line]
    assert [line.split("]")[0] for line in done] == ["[1/4", "[2/4", "[3/4", "[4/4"]
    assert not runner.ended.is_set()
    assert collect(planned, COMPARISON)[["run", "seed", "value"]].to_numpy().tolist() == [
        ["few", 3, 3],
        ["many", 3, 3],
        ["few", 4, 4],
        ["many", 4, 4],
    ]


def test_a_failure_stops_the_study_and_says_how_to_go_on(start: Callable[..., list[str]]) -> None:
    runner = Pretended(failing=("many, seed 3",))
    with pytest.raises(StudyError, match="no space left") as failed:
        start(runner)
    said = str(failed.value)
    assert "many, seed 3: `radrl repro` in" in said
    assert "line 29" in said
    assert "line 5\n" not in said  # the end alone
    assert "start the study again" in said
    assert runner.asked == ["few, seed 3", "many, seed 3"]


def test_a_failed_stage_is_named_with_the_end_of_its_own_log(
    start: Callable[..., list[str]], tmp_path: Path
) -> None:
    own = tmp_path / "few-seed-3" / "build" / "train@grpo.log"
    ended = f"the stage train@grpo ended with -9; the end of {own}"

    class Failing(Pretended):
        def __call__(self, experiment: Experiment) -> int:
            own.parent.mkdir(parents=True)
            own.write_text("no film left\n")
            with experiment.log.open("a") as log:
                log.write(f"Error: {ended}:\n    cut\nMend that\n")
            return 1

    with pytest.raises(StudyError) as failed:
        start(Failing())
    said = str(failed.value)
    assert said.startswith(f"few, seed 3: {ended}:\n    no film left\n")
    assert said.count("Mend that") == 1
    # the next start fails in another way: what is said of it is its own
    with pytest.raises(StudyError, match=r"`radrl repro` in .* ended with 1(?s:.*)no space left"):
        start(Pretended(failing=("few, seed 3",)))


def test_started_again_it_asks_for_all_and_ends_well(start: Callable[..., list[str]]) -> None:
    with pytest.raises(StudyError):
        start(Pretended(failing=("few, seed 4",)))
    runner = Pretended()  # DVC decides what is finished, so that it is asked
    start(runner)
    assert len(runner.asked) == 4


def test_success_without_a_comparison_is_a_failure(start: Callable[..., list[str]]) -> None:
    class Idle(Pretended):
        def __call__(self, experiment: Experiment) -> int:
            experiment.log.write_text("nothing to do\n")
            return 0

    with pytest.raises(StudyError, match="nothing to do"):
        start(Idle())


def test_success_without_one_of_the_stage_s_tables_is_a_failure(tmp_path: Path) -> None:
    class Half(Pretended):
        def __call__(self, experiment: Experiment) -> int:
            (experiment.clone / MASKING).parent.mkdir(parents=True)
            (experiment.clone / MASKING).touch()
            experiment.log.write_text("no rewards\n")
            return super().__call__(experiment)

    given = experiments({"": {}}, [3], tmp_path, "analyses")
    with pytest.raises(StudyError, match="no rewards"):
        run_all(given, Half(), prepare=lambda one: None, say=lambda line: None)


def test_one_failing_ends_the_others(start: Callable[..., list[str]]) -> None:
    class Waiting(Pretended):
        def __call__(self, experiment: Experiment) -> int:
            if experiment.seed == 4:
                assert self.ended.wait(timeout=20)
                return -15
            return super().__call__(experiment)

    runner = Waiting(failing=("few, seed 3",))
    with pytest.raises(StudyError, match="few, seed 3"):
        start(runner, jobs=2)


def test_an_interrupt_ends_what_runs(planned: list[Experiment]) -> None:
    runner = Pretended()

    def interrupted(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(planned, runner, prepare=lambda one: None, say=interrupted)
    assert runner.ended.is_set()


@pytest.mark.parametrize(
    ("seconds", "said"), [(8.4, "8 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (7325, "2 h 2 min")]
)
def test_times_are_said_as_one_says_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_experiments_whose_films_have_a_seed_of_their_own_share_them(tmp_path: Path) -> None:
    runs = {"own": {"ingest": {"source": "phantom"}}, "shared": {"ingest": {"source": "phantom", "seed": 20}}}
    planned = experiments(runs, [3, 4], tmp_path)
    assert [one.shares_films for one in planned] == [False, True, False, True]
    for one in planned:
        Pretended()(one)
    table = collect(planned, COMPARISON)
    assert table.groupby("run")["shared_films"].all().to_dict() == {"own": False, "shared": True}


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
    forks = "[tool.kedro]\n[tool.kedro-repro.fork-server]\nmodules = ['json']\n"
    (project / "pyproject.toml").write_text(forks)
    kept = project / "data" / "08_reporting" / ".gitkeep"
    kept.parent.mkdir()
    kept.touch()
    commit(project)
    assert len(PARTS) + 1 >= WORTH
    return project


def planned_in(project: Path, seed: int) -> Experiment:
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
    one = planned_in(staged, 1)
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
    before, one = children(), planned_in(staged, 1)
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
    monkeypatch.setattr(execution, "COMMAND", ("sh", "-c", deaf))
    monkeypatch.setattr(execution, "_PATIENCE", 0.5)
    before, one, runner = children(), planned_in(project, 1), Repro(project, "study-trial")
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
    one = replace(planned_in(project, 1), stage="analyses")
    run(project, [one])
    assert [(one.clone / path).read_text() for path in outs] == ["a\n", "a\n"]
    assert not (one.clone / COMPARISON).exists()
    assert out_of_date(project, one.clone, one.params, one.stage) == []
    assert "compare" in (out_of_date(project, one.clone, one.params, "compare") or [])


def test_two_clones_run_at_once(project: Path) -> None:
    both = [planned_in(project, seed) for seed in (1, 2)]
    run(project, both)
    assert [(one.clone / COMPARISON).read_text()[-2] for one in both] == ["1", "2"]


def test_a_clone_that_is_at_work_is_named(project: Path) -> None:
    """As after a study that was killed with -9, whose last experiment goes on."""
    one = planned_in(project, 1)
    said = r"`radrl repro` in .* ended with 1(?s:.*)already running: another"
    with alone(one.clone / "build" / "repro", "radrl repro"), pytest.raises(StudyError, match=said):
        run(project, [one])
    run(project, [one])
