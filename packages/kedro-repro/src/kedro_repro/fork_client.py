"""Asks a warm server to run a program: a process that has imported the libraries already, and forks.

Importing DVC, Kedro, MLflow, torch, transformers and TRL takes a stage 3 to 9 CPU seconds, as much as many
stages work. A run of several stages therefore starts one server (`kedro_repro.fork_server`) that imports them
once. A request is the program's name with its arguments, variables and folder, and its three standard
streams; the server forks, and the answer is the process' number at once, and its exit status with the CPU
seconds at its end.

Run as a script this file is the program `kedro` or `dvc` that a stage's command finds in PATH: it passes on
signals and ends as the forked process did. Hence it imports the standard library alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

ADDRESS: Final = "KEDRO_REPRO_FORK_SERVER"
"""The variable that holds the path of the server's socket."""

PROGRAMS: Final = ("dvc", "kedro")
"""What a server runs."""

STREAMS: Final = 3
"""Standard input, output and error."""

_PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Job(NamedTuple):
    """A program to run.

    Args:
        program: one of `PROGRAMS`.
        arguments: those behind its name.
        folder: where it runs.
        variables: all of its environment.
    """

    program: str
    arguments: list[str]
    folder: str
    variables: dict[str, str]


class Running:
    """A process that a server has forked.

    Args:
        connection: the one it was asked for by; the server ends the process when it is closed.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._lines = connection.makefile("rb")
        self._connection = connection
        self.pid = int(self._answer()["pid"])

    def wait(self) -> tuple[int, float]:
        """Wait for its end.

        Returns:
            Its exit status, below 0 for a signal, and the CPU seconds of it and of children it waited for.

        Raises:
            ConnectionError: when the server ended before it.
        """
        end = self._answer()
        self._connection.close()
        return int(end["status"]), float(end["cpu"])

    def _answer(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise ConnectionError("the process that starts stages has ended; start again, nothing is lost")
        answer: dict[str, Any] = json.loads(line)
        return answer


def start(address: str, job: Job, streams: Sequence[int]) -> Running:
    """Ask a server for a process.

    Args:
        address: the path of its socket.
        job: what to run.
        streams: file descriptors of its standard input, output and error.

    Raises:
        FileNotFoundError: when nobody listens there.
        ConnectionRefusedError: when nobody does any more.
        ConnectionError: when the server is about to end.
    """
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    body = json.dumps(job).encode("utf-8", "surrogateescape")
    socket.send_fds(connection, [len(body).to_bytes(8, "big")], list(streams))
    connection.sendall(body)
    return Running(connection)


def receive(connection: socket.socket) -> tuple[Job, list[int]]:
    """The server's side of `start`: the job, and the streams as descriptors of this process."""
    length, streams, _, _ = socket.recv_fds(connection, 8, STREAMS, socket.MSG_WAITALL)
    body = b""
    while len(body) < int.from_bytes(length, "big"):
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionError("the request is cut off")
        body += part
    return Job(*json.loads(body.decode("utf-8", "surrogateescape"))), streams


def answer(connection: socket.socket, **values: float) -> None:
    """The server's word on a process; nobody may be there to hear it."""
    with contextlib.suppress(OSError):
        connection.sendall(json.dumps(values).encode() + b"\n")


def commands(folder: Path) -> Path:
    """Write the programs that ask the server, under the names that commands call.

    Args:
        folder: takes them; it belongs first in PATH.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        script = folder / program
        # a shell's, because the line behind "#!" is cut off after 127 characters
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{__file__}" {program} "$@"\n')
        script.chmod(0o755)
    return folder


def main() -> int:
    """Run a program by the server that `KEDRO_REPRO_FORK_SERVER` names, or by itself where none listens.

    Returns:
        Its exit status.
    """
    program, *arguments = sys.argv[1:]
    job = Job(program, arguments, str(Path.cwd()), dict(os.environ))
    try:
        running = start(os.environ[ADDRESS], job, range(STREAMS))
    except (KeyError, FileNotFoundError, ConnectionRefusedError):
        os.execv(sys.executable, [sys.executable, "-m", program, *arguments])
    except ConnectionError as error:  # it is there, and about to end
        sys.exit(str(error))
    for number in _PASSED_ON:
        signal.signal(number, lambda given, _: _signal(running.pid, given))
    try:
        status, _ = running.wait()
    except ConnectionError as error:
        sys.exit(str(error))
    if status < 0:  # end as it did, for whoever looks at the status
        if -status != signal.SIGKILL:  # nobody may handle that one
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def in_path(folder: Path, variables: Mapping[str, str], address: str) -> dict[str, str]:
    """Variables for commands that are to ask a server.

    Args:
        folder: of `commands`.
        variables: those they would have otherwise.
        address: the path of the server's socket.
    """
    path = os.pathsep.join([str(folder), variables["PATH"]])
    return {**variables, "PATH": path, ADDRESS: address}


if __name__ == "__main__":
    sys.exit(main())
