"""Runs of killed processes are closed by whoever comes next; those that live are left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from mlflow import MlflowClient

from kedro_repro.tracking import killed_runs
from radrl.wiring.tracker import Tracker

CONF = {"tracking_uri": "sqlite:///mlflow.db", "artifacts": "mlartifacts", "experiment": "radrl"}
OPENS = """
import sys
from pathlib import Path
from radrl.wiring.tracker import Tracker
Tracker({conf!r} | {{"study": "a study"}}, Path({root!r})).enter("train", "killed")
print("open", flush=True)
sys.stdin.read()
"""


def states(root: Path) -> dict[str, str]:
    client = MlflowClient(f"sqlite:///{root / 'mlflow.db'}")
    runs = client.search_runs([client.get_experiment_by_name("radrl").experiment_id])
    return {run.data.tags["arm"]: run.info.status for run in runs if "arm" in run.data.tags}


def studies(root: Path) -> dict[str, str]:
    client = MlflowClient(f"sqlite:///{root / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("radrl").experiment_id
    above = client.search_runs([experiment], "tags.stage = 'study'")
    return {run.data.tags["study"]: run.info.status for run in above}


def test_a_killed_process_leaves_no_run_open(tmp_path: Path) -> None:
    script = OPENS.format(conf=CONF, root=str(tmp_path))
    started = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    )
    assert started.stdout
    assert started.stdout.readline() == "open\n"
    beside = Tracker(CONF, tmp_path)
    beside.enter("train", "beside")
    assert states(tmp_path) == {"killed": "RUNNING", "beside": "RUNNING"}  # both processes are there
    assert studies(tmp_path) == {"a study": "RUNNING"}
    started.send_signal(signal.SIGKILL)
    started.wait()
    Tracker(CONF, tmp_path).enter("train", "next")
    assert states(tmp_path) == {"killed": "KILLED", "beside": "RUNNING", "next": "RUNNING"}
    assert studies(tmp_path) == {"a study": "KILLED"}  # nothing below it is open


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the system notes the time of day")
def test_a_clock_that_is_set_neither_ends_a_run_nor_keeps_one(monkeypatch: pytest.MonkeyPatch) -> None:
    own, born = killed_runs.marks()[killed_runs.PROCESS].split(" ")
    told = psutil.Process().create_time()
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: told + 3600)
    assert killed_runs._alive(f"{own} {born}")
    boot, ticks = born.split(":")
    assert not killed_runs._alive(f"{own} {boot}:{int(ticks) - 1}")  # an earlier one of this number
    assert not killed_runs._alive(f"{own} {'0' * len(boot)}:{ticks}")  # of before the machine's last start


def test_where_the_system_tells_no_ticks_its_time_of_start_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(killed_runs, "_BOOT", tmp_path / "boot_id")
    own, born = killed_runs.marks()[killed_runs.PROCESS].split(" ")
    assert float(born) == pytest.approx(psutil.Process().create_time(), abs=0.01)
    assert killed_runs._alive(f"{own} {born}")
    assert not killed_runs._alive(f"{own} {float(born) - 1:.2f}")


def test_a_killed_process_that_nobody_has_waited_for_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        process = psutil.Process(started.pid)
        mark = f"{started.pid} {killed_runs._birth(process)}"
        assert killed_runs._alive(mark)
        started.kill()
        os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)  # ended, and there until it is reaped
        assert not killed_runs._alive(mark)
