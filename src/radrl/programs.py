"""Programs that run in the background, their output in files, and end when this process does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

TAIL = 20
"""Lines of a failed program's output that are shown."""


class Programs:
    """Programs that were started and can be ended together, from several threads."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._lock = threading.Lock()

    def run(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        log: Path,
        environment: Mapping[str, str],
        append: bool = False,
    ) -> int:
        """Run a program to its end.

        Args:
            command: the program and its arguments.
            folder: where it runs.
            log: takes what it prints.
            environment: all of its variables.
            append: keep what stands in the log.

        Returns:
            Its exit status, below 0 for a signal; `-SIGTERM`, unstarted, after `stop`.
        """
        with log.open("ab" if append else "wb") as stream, self._lock:
            if self._stopped:
                return -signal.SIGTERM
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # DVC starts Kedro; a stop ends both
            )
            self._running.add(process)
        status = process.wait()
        with self._lock:
            self._running.discard(process)
        return status

    def stop(self) -> None:
        """End what runs, and start nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)


def environment(**more: str) -> dict[str, str]:
    """This process' variables for a program that is to find the same tools.

    Args:
        **more: variables that are added or replaced.

    Returns:
        The variables, this Python's folder first in PATH: dvc.yaml calls kedro by name.
    """
    path = os.pathsep.join(
        part for part in (str(Path(sys.executable).parent), os.environ.get("PATH")) if part
    )
    return {**os.environ, "PATH": path, **more}


def tail(log: Path) -> str:
    """The last lines of a log, set in for a message.

    Args:
        log: the file.
    """
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
    return "\n".join(f"    {line}" for line in lines)


def duration(seconds: float) -> str:
    """A time as one says it.

    Example:
        >>> duration(65)
        '1 min 5 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
