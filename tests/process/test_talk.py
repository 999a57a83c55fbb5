"""A worker that is asked more than once, and what becomes of it when nobody asks any more."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from radrl.process.isolated.talk import Talk, WorkerError

COUNTS = """
from channel import serve
seen = []
def work(request, channel):
    seen.append(request["text"])
    channel.about({"seen": str(len(seen))})
    channel.answer(0, seen[-1].upper())
serve(work)
"""
SLEEPS = """
import os, time
from channel import serve
def work(request, channel):
    with open("pid", "w") as file:
        file.write(str(os.getpid()))
    os.rename("pid", "started")
    time.sleep(600)
serve(work)
"""
ASKS = """
import sys
from pathlib import Path
from radrl.process.isolated.talk import Talk
with Talk(Path(sys.executable), Path("worker.py"), name="sleeper") as talk:
    talk.ask({}, 1)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "worker.py"


def test_one_worker_takes_one_request_after_another(script: Path) -> None:
    script.write_text(COUNTS)
    texts = ["a", "b" * 3_000_000, "c"]
    with Talk(Path(sys.executable), script, name="counter") as talk:
        replies = [talk.ask({"text": text}, 1) for text in texts]
    assert [reply.answers for reply in replies] == [[text.upper()] for text in texts]
    assert [reply.about["seen"] for reply in replies] == ["1", "2", "3"]


def test_a_worker_that_has_ended_is_not_waited_for(script: Path) -> None:
    script.write_text(COUNTS)
    with Talk(Path(sys.executable), script, name="counter") as talk:
        with pytest.raises(WorkerError, match="counter: the worker failed with KeyError"):
            talk.ask({}, 1)
        with pytest.raises(WorkerError, match="counter: the worker has ended"):
            talk.ask({"text": "a"}, 1)


def test_a_worker_ends_in_the_middle_of_a_request_when_who_asked_is_killed(
    script: Path, tmp_path: Path
) -> None:
    script.write_text(SLEEPS)
    asking = subprocess.Popen([sys.executable, "-c", ASKS], cwd=tmp_path)
    started = tmp_path / "started"
    wait(lambda: started.exists() or asking.poll() is not None)
    worker = int(started.read_text())
    assert psutil.pid_exists(worker)
    asking.kill()
    asking.wait()
    wait(lambda: not alive(worker))
    assert not alive(worker)


def alive(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not until() and time.monotonic() < deadline:
        time.sleep(0.05)
