"""Starts the process that imports what stages need once and forks them, and ends it with the run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from kedro_repro import fork_client
from kedro_repro.programs import environment
from kedro_repro.project import Project, load

WORTH: Final = 3
"""Stages from which on the server's own start, 6 CPU seconds, is less than what it saves."""

_TICK: Final = 0.05


@dataclass(frozen=True, slots=True)
class Server:
    """A warm server.

    Args:
        address: the path of its socket.
        commands: the folder of the programs that ask it.
        variables: for commands that are to ask it.
        pid: of its process.
    """

    address: str
    commands: Path
    variables: Mapping[str, str]
    pid: int


def pays(project: Project, chosen: Collection[str], params: Mapping[str, Any]) -> bool:
    """Whether a server is worth starting, and may be.

    A process that has touched an accelerator must not be forked, and on macOS the system's own libraries
    forbid it; stages are fresh processes there.

    Args:
        project: whose stages they are.
        chosen: the stages to run.
        params: params.yaml.
    """
    return len(chosen) >= WORTH and sys.platform == "linux" and project.may_fork(params)


@contextmanager
def server(root: Path, held: Collection[int] = (), **more: str) -> Iterator[Server]:
    """Start a server, and end it with the block.

    Args:
        root: the project's folder.
        held: descriptors of locks that last until the last of its processes has ended.
        **more: variables for it and what it runs, beside this process' own.

    Yields:
        The server, ready for requests.

    Raises:
        RuntimeError: with what it said, when it does not start.
    """
    with socket_folder() as folder:
        address, said = folder / "socket", folder / "said"
        with said.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "kedro_repro.fork_server", str(address)],
                cwd=root,
                env=_of_project(root, environment(**more)),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C is for us to handle
                pass_fds=held,
            )
        try:
            while not address.exists():
                if process.poll() is not None:
                    raise RuntimeError(f"the warm server did not start:\n{said.read_text(errors='replace')}")
                time.sleep(_TICK)
            bin_ = fork_client.commands(folder / "bin")
            variables = fork_client.in_path(bin_, environment(**more), str(address))
            yield Server(str(address), bin_, variables, process.pid)
        finally:
            process.communicate()  # closes its input, which ends it


@contextmanager
def socket_folder() -> Iterator[Path]:
    """A folder for a server's socket, of this user alone; what killed processes have left is removed.

    It lies in the system's temporary folder and has a short name, for a socket's path has 108 characters.
    The name begins with the number of this process, which says whether somebody still needs the folder.
    """
    prefix = f"kedro-repro.{os.getuid()}."
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        number = left.name.removeprefix(prefix).partition(".")[0]
        if not (number.isdigit() and psutil.pid_exists(int(number))):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{prefix}{os.getpid()}.", ignore_cleanup_errors=True) as made:
        yield Path(made)


def _of_project(root: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Variables under which the project's own package is found first, whatever package is installed."""
    paths = [str(load(root, with_class=False).source), *filter(None, [variables.get("PYTHONPATH")])]
    return {**variables, "PYTHONPATH": os.pathsep.join(paths)}
