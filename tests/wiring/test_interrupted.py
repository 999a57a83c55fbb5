"""A signal closes the record: the run that was open, and the one above it, say that they were killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from mlflow import MlflowClient

from kedro_repro.tracking import close_on_signal
from kedro_repro.tracking.close_on_signal import ClosedAtTheEnd

OPENS = """
import os, sys, time
from pathlib import Path
from kedro_repro.tracking.close_on_signal import ClosedAtTheEnd
from radrl.wiring.tracker import Tracker
conf = {{"tracking_uri": "sqlite:///mlflow.db", "artifacts": "mlartifacts", "experiment": "radrl"}}
tracker = Tracker({{**conf, "study": "a study"}}, Path({root!r}))
ClosedAtTheEnd(lambda: tracker.leave("KILLED")).begin()
tracker.enter("train", "grpo")
tracker.metrics({{"reward": 0.5}}, step=1)
heard, said = os.pipe()
child = os.fork()
if child:
    os.read(heard, 1)  # a signal that comes while it begins is lost
    print(child, flush=True)
else:
    os.write(said, b"1")
try:
    while True:
        time.sleep(0.1)
finally:
    print("put away", flush=True)
"""


def _as_from_a_terminal() -> None:
    """What the parent of the tests ignores, as nohup has it do, would be ignored here as well."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", OPENS.format(root=str(tmp_path))],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        start_new_session=True,
        preexec_fn=_as_from_a_terminal,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def states(folder: Path) -> dict[str, str]:
    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    runs = client.search_runs([client.get_experiment_by_name("radrl").experiment_id])
    return {run.data.tags["mlflow.runName"]: run.info.status for run in runs}


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGTERM, 128 + signal.SIGTERM),
        (signal.SIGHUP, 128 + signal.SIGHUP),
        (signal.SIGINT, -signal.SIGINT),
    ],
)
def test_a_signal_closes_what_is_open(
    tmp_path: Path, started: subprocess.Popen[str], number: int, status: int
) -> None:
    process = started
    assert process.stdout
    child = int(process.stdout.readline())
    os.kill(child, signal.SIGTERM)  # a worker's end is not the stage's
    while psutil.Process(child).status() != psutil.STATUS_ZOMBIE:  # nobody waits for it
        time.sleep(0.01)
    assert states(tmp_path) == {"train grpo": "RUNNING", "a study": "RUNNING"}
    process.send_signal(number)
    while number != signal.SIGINT and process.poll() is None:  # as `radrl repro` ends its stages
        process.send_signal(number)
        time.sleep(0.01)
    assert process.stdout.read() == "put away\n"
    # Python gives the signals back when all is closed, and one more may come before it has ended
    assert process.wait(timeout=60) in {status, -number}
    assert states(tmp_path) == {"train grpo": "KILLED", "a study": "KILLED"}


def test_what_hangs_is_ended_by_force(tmp_path: Path) -> None:
    hangs = (
        "import time\nfrom kedro_repro.tracking import close_on_signal\nclose_on_signal.PATIENCE = 1\n"
        "close_on_signal.ClosedAtTheEnd(lambda: None).begin()\n"
        "try:\n    print('there', flush=True)\n    time.sleep(600)\nfinally:\n    time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", hangs],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout
    process.stdout.readline()
    process.terminate()
    assert process.wait(timeout=60) == -signal.SIGALRM


def test_signals_are_given_back_and_those_of_others_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {number: signal.getsignal(number) for number in close_on_signal._SIGNALS}
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
        closing = ClosedAtTheEnd(lambda: None)
        closing.begin()
        assert signal.getsignal(signal.SIGTERM) == closing._unwind
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        closing.end()
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
