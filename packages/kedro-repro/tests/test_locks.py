"""Who holds a project's folder, and what a start does while it is held."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kedro_repro.locks import AlreadyRunning, alone


def test_who_is_alone_is_told_of_by_its_number(tmp_path: Path) -> None:
    with alone(tmp_path / "work", "radrl repro") as lock:
        assert os.fstat(lock)
        with pytest.raises(
            AlreadyRunning, match=rf"another `radrl repro` \(process {os.getpid()}\) works in"
        ):
            alone(tmp_path / "work", "radrl repro").__enter__()
    with alone(tmp_path / "work", "radrl repro"):
        pass


def test_who_has_not_written_its_number_yet_is_alone_all_the_same(tmp_path: Path) -> None:
    """It holds the lock, and writes just then."""
    with (tmp_path / ".work.lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(AlreadyRunning, match=r"already running: another `radrl repro` works in .*work"):
            alone(tmp_path / "work", "radrl repro").__enter__()


def test_a_start_waits_for_what_a_killed_one_had_started(tmp_path: Path) -> None:
    """The heir ends when its input does, which is when the start has said that it waits."""
    script = """if True:
        import os, subprocess, sys
        from pathlib import Path
        from kedro_repro.locks import alone
        with alone(Path(sys.argv[1]), "radrl repro") as lock:
            subprocess.Popen(["cat"], pass_fds=[lock])
            os.kill(os.getpid(), 9)"""
    reading, writing = os.pipe()
    killed = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "work")], stdin=reading)
    os.close(reading)
    killed.wait()
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        os.close(writing)

    with alone(tmp_path / "work", "radrl repro", say=say):
        assert said == [
            f"`radrl repro` (process {killed.pid}) was killed; waiting until what it had started has ended"
        ]
