"""DVC as a program in the background: its output goes to a file, and what it runs can be ended.

Where a warm server is given (`kedro_repro.fork_client`) it forks DVC, and what DVC's commands start.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol

import psutil

from kedro_repro import fork_client
from kedro_repro.parent_death import STARTER

DVC: Final = (sys.executable, "-m", "dvc")
"""Of the same Python, whatever PATH says."""

TAIL: Final = 20
"""Lines of a failed program's output that are shown."""

_PATIENCE: Final = 30.0
"""Seconds that a command has to end by itself before it is killed."""


NO_GIT: Final = (
    "; DVC, studies and the digests of code need one: clone the project, or git init && git add . && git "
    "commit -m start"
)


def with_mend(said: str) -> str:
    """What a program said when it failed, with the mend of what people meet most.

    Args:
        said: its last words.

    Example:
        >>> with_mend("x is not a git repository")[:30]
        'x is not a git repository; DVC'
    """
    return f"{said}{NO_GIT}" if "not a git repository" in said else said


class Ended(NamedTuple):
    """How a run of DVC ended.

    Args:
        status: its exit status, below 0 for a signal.
        cpu: seconds, of it and of what it waited for; what a server forked for its commands is not in it.
    """

    status: int
    cpu: float


class _Process(Protocol):
    @property
    def pid(self) -> int: ...

    def wait(self) -> tuple[int, float]: ...


class _Started:
    """A process of our own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    def wait(self) -> tuple[int, float]:
        _, status, usage = os.wait4(self.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, usage.ru_utime + usage.ru_stime


class Programs:
    """Several runs of DVC at once, from several threads, that can be ended together.

    Args:
        server: the socket of a warm server; without one each run is a fresh process.
        held: descriptors of locks that such a process holds until it ends.
    """

    def __init__(self, server: str | None = None, held: Collection[int] = ()) -> None:
        self._server, self._held = server, held
        self._running: set[_Process] = set()
        self._stopped = False
        self._lock = threading.Lock()

    def run(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        log: Path,
        environment: Mapping[str, str],
        append: bool = False,
    ) -> Ended:
        """Run DVC to its end.

        Args:
            arguments: what stands behind `dvc`.
            folder: where it runs.
            log: takes what it and its commands print.
            environment: all of its variables.
            append: keep what stands in the log.

        Returns:
            How it ended; with `-SIGTERM`, unstarted, after `stop`.
        """
        with log.open("ab" if append else "wb") as stream, self._lock:
            if self._stopped:
                return Ended(-signal.SIGTERM, 0.0)
            process = self._start(arguments, folder, stream, environment)
            self._running.add(process)
        try:
            return Ended(*process.wait())
        finally:
            with self._lock:
                self._running.discard(process)

    def _start(
        self, arguments: Sequence[str], folder: Path, stream: IO[bytes], environment: Mapping[str, str]
    ) -> _Process:
        if self._server:
            job = fork_client.Job("dvc", list(arguments), str(folder), dict(environment))
            with Path(os.devnull).open("rb") as nothing:
                return fork_client.start(
                    self._server, job, [nothing.fileno(), stream.fileno(), stream.fileno()]
                )
        process = subprocess.Popen(
            [*DVC, *arguments],
            cwd=folder,
            env={**environment, STARTER: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C reaches it by `stop` alone
            pass_fds=self._held,
        )
        return _Started(process)

    def stop(self) -> None:
        """End the commands that DVC runs, start nothing more, and wait for the end.

        DVC itself gets no signal, which could cut it off while it writes dvc.lock: it ends by itself when its
        command fails, and what is finished is written down.
        """
        with self._lock:
            self._stopped = True
        began = time.monotonic()
        while running := self._alive():
            for process in running:  # again and again: it may not have started its command yet
                _end_commands(process.pid, kill=time.monotonic() - began > _PATIENCE)
            time.sleep(0.1)

    def _alive(self) -> list[_Process]:
        with self._lock:
            return list(self._running)


def _end_commands(program: int, *, kill: bool) -> None:
    """Signal whatever a program has started, down to the last child."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(program).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill() if kill else child.terminate()


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


def without_git(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables for a program that works in another repository.

    Args:
        variables: of this process; a hook or an alias of git may have set some for the project itself.

    Returns:
        Those that are not git's.
    """
    return {name: value for name, value in variables.items() if not name.startswith("GIT_")}


def tail(log: Path) -> str:
    """The last lines of a log.

    Args:
        log: the file.

    Returns:
        `TAIL` of them, set in for a message.
    """
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
    return "\n".join(f"    {line}" for line in lines)


def duration(seconds: float) -> str:
    """A time as one says it.

    Args:
        seconds: of it.

    Returns:
        Hours and minutes, minutes and seconds, or seconds.

    Example:
        >>> duration(65)
        '1 min 5 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
