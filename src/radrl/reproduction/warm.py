"""The process that imports what stages need once and forks them: started, and ended with `radrl repro`."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from radrl.process import importing, warm
from radrl.process.programs import environment
from radrl.storage.temporary import temporary_folder

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


def pays(chosen: Collection[str], params: Mapping[str, Any]) -> bool:
    """Whether a server is worth starting, and may be.

    A process that has touched an accelerator must not be forked, and on macOS the system's own libraries
    forbid it; stages are fresh processes there.

    Args:
        chosen: the stages to run.
        params: params.yaml.
    """
    return len(chosen) >= WORTH and sys.platform == "linux" and params.get("device") == "cpu"


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
    with temporary_folder() as folder:
        address, said = folder / "socket", folder / "said"
        with said.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "radrl.wiring.warm", str(address)],
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
            bin_ = warm.commands(folder / "bin")
            variables = warm.in_path(bin_, environment(**more), str(address))
            yield Server(str(address), bin_, variables, process.pid)
        finally:
            process.communicate()  # closes its input, which ends it


def _of_project(root: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Variables under which `radrl` is the project's own, which Kedro runs whatever package is installed."""
    return {**variables, "PYTHONPATH": importing.first(root / "src", variables)}
