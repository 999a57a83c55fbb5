"""Clones with git and `radrl repro` themselves, on a project whose study is one script."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from radrl.studies.clones import CloneError, out_of_date, prepare, uncommitted
from radrl.studies.execution import COMPARISON, Experiment, Repro, StudyError, run_all

from .conftest import commit


def experiment(project: Path, params: dict[str, Any]) -> Experiment:
    return Experiment("", params["seed"], params, project / "data" / ".studies" / f"seed-{params['seed']}")


def run(project: Path, one: Experiment) -> str:
    run_all(
        [one],
        Repro(project, "study-trial"),
        prepare=lambda given: prepare(project, given.clone, given.params),
        say=lambda line: None,
    )
    return (one.clone / COMPARISON).read_text().splitlines()[-1]


def test_an_experiment_runs_resumes_and_shares_the_cache(project: Path) -> None:
    one = experiment(project, {"seed": 3, "labeler": {"chexbert": "weights"}})
    assert out_of_date(project, one.clone, one.params, one.stage) is None
    assert run(project, one) == "sft,arm,f1,3"
    assert yaml.safe_load((one.clone / "params.yaml").read_text()) == one.params
    assert (one.clone / "weights" / "model.bin").read_text() == "w"  # named in params, ignored by git
    assert not (project / "data" / "08_reporting").exists()  # the working tree stays as it is
    assert out_of_date(project, one.clone, one.params, one.stage) == []
    assert out_of_date(project, one.clone, one.params | {"seed": 4}, one.stage) is None
    one.log.unlink()
    run(project, one)
    assert "Running stage" not in one.log.read_text()
    # a clone that was deleted is filled from the cache
    shutil.rmtree(one.clone)
    one.log.unlink()
    assert run(project, one) == "sft,arm,f1,3"
    assert "is cached - skipping run" in one.log.read_text()


def test_a_clone_follows_commits_and_raw_data(project: Path) -> None:
    one = experiment(project, {"seed": 1})
    run(project, one)
    (project / "data" / "01_raw" / "films.txt").write_text("f2")
    assert out_of_date(project, one.clone, one.params, one.stage) == ["compare"]
    assert run(project, one) == "sft,arm,f2,1"
    script = project / "src" / "script.py"
    script.write_text(script.read_text().replace("sft,arm", "base,arm"))
    (project / "src" / "new.py").write_text("")
    assert uncommitted(project) == ["src/new.py", "src/script.py"]
    assert run(project, one) == "sft,arm,f2,1"  # not committed
    prepare(project, one.clone, one.params, uncommitted(project))
    assert (one.clone / "src" / "new.py").is_file()
    assert (one.clone / "src" / "script.py").read_text() == script.read_text()
    prepare(project, one.clone, one.params)  # and back
    assert not (one.clone / "src" / "new.py").exists()
    commit(project)
    assert uncommitted(project) == []
    assert out_of_date(project, one.clone, one.params, one.stage) is None
    assert run(project, one) == "base,arm,f2,1"


def test_a_failed_stage_shows_the_end_of_its_log(project: Path) -> None:
    one = experiment(project, {"seed": 1})
    prepare(project, one.clone, one.params)
    (one.clone / "broken").touch()
    said = r"the stage compare ended with \d+; the end of .*/compare\.log:(?s:.*)the films are gone"
    with pytest.raises(StudyError, match=said):
        run(project, one)
    assert "the films are gone" in one.log.read_text().split("Error: ")[0]  # the log has all that it printed
    (one.clone / "broken").unlink()
    assert run(project, one) == "sft,arm,f1,1"


def test_a_stop_ends_dvc_and_what_it_started(project: Path) -> None:
    one = experiment(project, {"seed": 1})
    prepare(project, one.clone, one.params)
    (one.clone / "slow").touch()
    runner = Repro(project, "study-trial")
    with ThreadPoolExecutor() as pool:
        status = pool.submit(runner, one)
        while not (one.clone / "working").exists():
            assert not status.done()
            time.sleep(0.1)
        began = time.monotonic()
        runner.stop()
        assert status.result(timeout=30)
    assert time.monotonic() - began < 30
    assert runner(one)  # it starts nothing any more
    (one.clone / "slow").unlink()
    assert run(project, one) == "sft,arm,f1,1"


def test_a_folder_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CloneError, match="not a git repository"):
        uncommitted(tmp_path)
