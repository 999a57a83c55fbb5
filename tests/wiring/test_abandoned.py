"""Runs of killed processes are closed by whoever comes next; those that live are left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from mlflow import MlflowClient

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
