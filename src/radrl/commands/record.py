"""The record of runs as the commands that show or serve it find it, and the servers they start."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import click

from radrl.storage import yaml_files

PROTOCOL: Final = "radrl.process.http_door:Punctual"
"""What uvicorn speaks in both servers."""


def own_conf(root: Path) -> dict[str, object]:
    """conf/base/mlflow.yml and what conf/local says instead; the environment wins.

    Args:
        root: the project's folder.
    """
    conf: dict[str, object] = {}
    for layer in ("base", "local"):
        file = root / "conf" / layer / "mlflow.yml"
        if file.is_file():
            conf |= yaml_files.read(file) or {}
    given = os.environ.get("MLFLOW_TRACKING_URI", "off")
    return conf if given == "off" else conf | {"tracking_uri": given}


def experiment_of(file: Path, name: str) -> str:
    """The id of an experiment.

    Args:
        file: SQLite's.
        name: of the experiment.

    Raises:
        click.ClickException: when there is none, with the mend.
    """
    if not file.is_file():
        raise click.ClickException(f"no runs yet: {file} is not there. Mend: radrl repro, or kedro run")
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as base:
        found = base.execute("SELECT experiment_id FROM experiments WHERE name = ?", (name,)).fetchone()
    if found is None:
        raise click.ClickException(f"{file} has no experiment {name!r}. Mend: radrl repro, or kedro run")
    return str(found[0])


def require_free(port: int, command: str) -> None:
    """Look whether a port of this machine can be had.

    Args:
        port: its number.
        command: that asked, for the mend.

    Raises:
        click.ClickException: when somebody has it.
    """
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError as error:
            raise click.ClickException(
                f"port {port} is taken ({error.strerror}). Mend: {command} --port {port % 65535 + 1}"
            ) from None


@contextmanager
def started(
    root: Path, module: str, words: Sequence[str], variables: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A server, which ends with the block; a signal that ends the command ends it in peace.

    Args:
        root: the project's folder, where it runs.
        module: the program, as `python -m` takes it.
        words: its arguments.
        variables: further ones of its environment.

    Yields:
        Its process.
    """
    server = subprocess.Popen([sys.executable, "-m", module, *words], cwd=root, env=os.environ | variables)
    try:
        yield server
    except (KeyboardInterrupt, SystemExit):
        pass
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
            server.wait()
