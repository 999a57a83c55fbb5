"""One start at a time in a folder, by a lock that the system lets go of when its process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil


class AlreadyRunning(RuntimeError):
    """Another process is at it; the message names the command, the process and the folder."""


@contextmanager
def alone(folder: Path, command: str, *, say: Callable[[str], object] = print) -> Iterator[int]:
    """Hold a folder for this process; the system lets go of it however the process ends.

    Where the one that held it was killed, and what it started is still ending, this waits for that.

    Args:
        folder: what the command writes; it is made where there is none.
        command: what the other process is called in the message.
        say: told that it waits.

    Yields:
        The lock's descriptor. Whoever inherits it holds the folder too.

    Raises:
        AlreadyRunning: when another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # a file, since a folder on NFS cannot be locked; beside the folder, which may be deleted
    with folder.with_name(f".{folder.name}.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _wait_for_heirs(lock, folder, command, say)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield lock.fileno()


def _wait_for_heirs(lock: IO[str], folder: Path, command: str, say: Callable[[str], object]) -> None:
    """Take a lock once those have ended who inherited it from a process that is gone."""
    lock.seek(0)
    number = lock.read().strip()
    if not number or psutil.pid_exists(int(number)):
        process = f" (process {number})" if number else ""
        raise AlreadyRunning(
            f"already running: another `{command}`{process} works in {folder}; wait for it, or stop it first"
        )
    say(f"`{command}` (process {number}) was killed; waiting until what it had started has ended")
    fcntl.flock(lock, fcntl.LOCK_EX)
