"""`radrl repro`: what it would run, how many at once, and its messages."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from kedro_repro import reproduce
from kedro_repro.locks import alone
from kedro_repro.schedule import StageFailed
from kedro_repro.stage_runner import DvcStages
from radrl.commands import repro

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    (folder / "conf" / "recipes").mkdir(parents=True)
    (folder / "dvc.yaml").touch()
    for name in ("params.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(reproduce, "stages", lambda root, targets: {"ingest": set(), "label": {"ingest"}})
    monkeypatch.setattr(reproduce, "out_of_date", lambda root, graph: {"label"})
    monkeypatch.setattr(reproduce, "would_run", lambda root, graph, untrue: {"label"})
    monkeypatch.setattr(reproduce, "mend", lambda root: [])
    return folder


def test_a_dry_run_names_what_would_run(radrl, project):
    result = radrl("repro", "--dry-run", "--jobs", "3")
    assert result.stdout.splitlines() == ["1 of 2 stages to run, 3 at once", "  label"]
    assert not (project / "build").exists()


@pytest.mark.parametrize("options", [("--dry-run",), ()])
def test_params_that_cannot_be_are_refused_before_dvc_is_asked(radrl, project, monkeypatch, options):
    monkeypatch.setattr(reproduce, "stages", lambda *_: pytest.fail("DVC was asked"))
    params = project / "params.yaml"
    params.write_text(params.read_text().replace("seed: ", "sed: ", 1))
    result = radrl("repro", *options)
    assert result.exit_code == 1
    assert "params.yaml" in result.stderr
    assert "seed" in result.stderr
    assert not (project / "build").exists()


def test_outside_the_project_it_says_where_to_go(radrl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = radrl("repro")
    assert result.exit_code == 2
    assert "change into the folder that holds dvc.yaml" in result.stderr


@pytest.mark.parametrize(
    ("path", "threads", "cores", "jobs"),
    [(None, 1, 2, 2), (None, 2, 2, 1), (None, 8, 2, 1), (None, 2, 9, 4), ("data/qwen", 1, 16, 1)],
)
def test_jobs_fill_the_cores_unless_the_policy_is_a_real_one(path, threads, cores, jobs, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
    assert repro.default_jobs({"threads": threads, "policy": {"path": path}}) == jobs


def test_small_weights_leave_room_for_other_stages(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(4)), raising=False)
    (tmp_path / "model.safetensors").write_bytes(b"12345")
    given = {"threads": 1, "policy": {"path": str(tmp_path)}}
    assert repro.default_jobs(given) == 4
    monkeypatch.setattr(repro, "LAPTOP_BYTES", 4)
    assert repro.default_jobs(given) == 1


def test_warnings_of_a_stage_are_said_and_nothing_else(tmp_path, capsys):
    runner = DvcStages(tmp_path, tmp_path)
    log = "Running stage 'train@grpo':\n> kedro run\n12:00:00 INFO    reads\n"
    log += " 3%|  | 1/30\r12:00:01 WARNING training ended with kl_blow_up (warning)\n"
    (tmp_path / "train@grpo.log").write_text(log)
    with reproduce.Bar(1, runner) as bar:
        bar.running({"train@grpo": 61.0})
        bar.done("train@grpo", 95.0)
    said = capsys.readouterr().err
    assert "train@grpo               1 min 35 s" in said
    assert "    training ended with kl_blow_up (warning)" in said
    assert "reads" not in said
    assert "kedro" not in said


def test_without_a_terminal_a_stage_is_named_when_it_starts_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with reproduce.Bar(1, DvcStages(tmp_path, tmp_path / "logs")) as bar:
        for seconds in (0.0, 1.0):
            bar.running({"labeler": seconds})
    assert capsys.readouterr().err.splitlines() == ["labeler                  started, logs/labeler.log"]


def test_what_ran_what_was_restored_and_what_was_left_are_counted_apart(tmp_path, capsys):
    logs = {
        "a": "Running stage 'a':",
        "b": "Stage 'b' is cached - skipping run, checking out outputs",
        "c": "Stage 'c' didn't change, skipping",
    }
    for stage, said in logs.items():
        (tmp_path / stage).write_text(said)
    reproduce.say_end({stage: set() for stage in "abcde"}, [tmp_path / stage for stage in logs], 61.0)
    said = capsys.readouterr().err
    assert said.startswith("1 stage ran, 1 came from the cache, in 1 min 1 s, ")
    assert said.endswith("; 3 of 5 had nothing to do\n")


def test_verbose_prints_each_line_of_a_stage_once_and_none_of_an_earlier_start(tmp_path, capsys):
    runner, log = DvcStages(tmp_path, tmp_path), tmp_path / "label.log"
    log.write_text("of yesterday\n")
    with reproduce.Bar(2, runner, reproduce.Printed(runner, {"label", "eval@sft"})) as bar:
        bar.running({"label": 0.0})
        assert capsys.readouterr().err == ""
        log.write_text("12:00:01 WARNING one\nhal")
        bar.running({"label": 1.0})
        assert capsys.readouterr().err == "12:00:01 WARNING one\n"
        log.write_text("12:00:01 WARNING one\nhalf\nend")
        bar.done("label", 2.0)
        assert capsys.readouterr().err == "half\nend\nlabel                    2 s\n"
        bar.running({"eval@sft": 0.0})
        (tmp_path / "eval@sft.log").write_text("failed")  # nobody says that it is done
    assert capsys.readouterr().err == "failed\n"


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        (StageFailed("the stage label ended with 1; the end of its log"), 1, "the end of its log"),
        (KeyboardInterrupt(), 130, "stopped: finished stages are kept"),
        (SystemExit(143), 143, "stopped: finished stages are kept"),
    ],
)
def test_an_end_before_the_end_says_why_and_what_is_kept(radrl, project, monkeypatch, end, status, said):
    def run(*_, **__):
        raise end

    monkeypatch.setattr(reproduce, "run_stages", run)
    result = radrl("repro")
    assert result.exit_code == status
    assert said in result.stderr


@pytest.mark.parametrize(("chosen", "said"), [({"label", "compare"}, True), ({"label"}, False)])
def test_a_failed_run_says_that_the_page_is_of_an_earlier_one(radrl, project, monkeypatch, chosen, said):
    def run(*_, **__):
        raise StageFailed("the stage label ended with 1")

    monkeypatch.setattr(reproduce, "out_of_date", lambda root, graph: chosen)
    monkeypatch.setattr(reproduce, "run_stages", run)
    page = project / repro.PAGE
    page.parent.mkdir(parents=True)
    page.touch()
    failed = radrl("repro").stderr
    assert "the stage label ended with 1" in failed
    assert (f"the page {repro.PAGE} is of an earlier run, of " in failed) == said
    page.unlink()
    assert "earlier run" not in radrl("repro").stderr


def test_the_end_shows_the_headlines_and_whose_films_they_are_of(radrl, project, monkeypatch):
    asked = []
    log = project / "build" / "repro" / "eval@deer.log"
    graph = {"ingest": set(), "eval@base": {"ingest"}, "eval@deer": {"ingest"}}
    monkeypatch.setattr(reproduce, "stages", lambda root, targets: graph)
    monkeypatch.setattr(reproduce, "out_of_date", lambda root, graph: {"eval@deer"})
    monkeypatch.setattr(reproduce, "run_stages", lambda *_, **__: log.write_text("Running stage"))
    monkeypatch.setattr(repro.subprocess, "run", lambda command, **_: asked.append(command[2:]))
    result = radrl("repro")
    assert result.exit_code == 0
    (shown,) = asked
    assert shown[:3] == ["dvc", "metrics", "show"]
    assert shown[3:] == [f"data/08_reporting/eval/{arm}/headline.json" for arm in ("base", "deer")]
    said = r"1 stage ran, in 0 s, \d+\.\d CPU minutes; 2 of 3 had nothing to do"
    assert re.search(said, result.stderr)
    assert "They say nothing about patients." in result.stderr
    for next_step in ("data/08_reporting/comparison/comparison.html", "radrl ui", "dvc.lock"):
        assert next_step in result.stderr
    assert "nothing about patients" not in radrl("repro", "label").stderr
    assert len(asked) == 1  # of a part, other arms' figures may be old


def test_who_comes_by_make_is_told_how_to_activate_the_environment(tmp_path, monkeypatch):
    script = tmp_path / ".venv" / "bin" / "activate"
    script.parent.mkdir(parents=True)
    script.touch()
    monkeypatch.setattr(repro.sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert repro.not_activated(tmp_path) == "source .venv/bin/activate"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / ".venv"))
    assert repro.not_activated(tmp_path) == ""


def test_a_second_start_is_refused(radrl, project):
    with alone(project / "build" / "repro", "radrl repro"):
        result = radrl("repro")
    assert result.exit_code == 1
    assert "already running: another `radrl repro`" in result.stderr
