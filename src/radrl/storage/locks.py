"""One start of a command at a time, where two would write the same files."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class AlreadyRunning(RuntimeError):
    """Another process is at it; the message names the command and the folder."""


@contextmanager
def alone(folder: Path, command: str) -> Iterator[None]:
    """Hold a folder for this process; the system lets go of it however the process ends.

    Args:
        folder: what the command writes; it is made where there is none.
        command: what the other process is called in the message.

    Raises:
        AlreadyRunning: when another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # a file, since a folder on NFS cannot be locked; beside the folder, which may be deleted
    with folder.with_name(f".{folder.name}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(
                f"already running: another `{command}` works in {folder}; wait for it, or stop it first"
            ) from None
        yield
