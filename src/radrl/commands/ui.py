"""`radrl ui`: MLflow's pages of the project's record, opened where the arms stand side by side."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import click

from radrl.commands.project import project_folder
from radrl.commands.record import PROTOCOL, experiment_of, own_conf, require_free, started
from radrl.wiring import moved
from radrl.wiring.views import ARMS, CURVES, MODELS, address

_EXAMPLES: Final = """\b
Examples:
  radrl ui
  radrl ui --port 5001 --no-open"""

APP: Final = "radrl"
"""Name by which MLflow's command knows `radrl.wiring.ui_server`."""

_QUIET: Final = {
    "DO_NOT_TRACK": "true",  # MLflow knows no other spelling
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # five workers of 240 MB for judges of language models
}


@click.command("ui", epilog=_EXAMPLES)
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True)
@click.option(
    "--open/--no-open", "opens", default=None, help="Open the page in a browser.  [default: on a terminal]"
)
def command(port: int, opens: bool | None) -> None:
    """Show every run, on this machine alone, until Ctrl-C.

    Prints the addresses of three pages: the arms with the headline metrics, sorted, the curves of all
    trainings, and the arms' policies with the scores that are compared. A record on a server has its own
    pages; their address is printed and nothing is started.
    """
    root = project_folder(Path.cwd())
    conf = own_conf(root)
    uri, name = str(conf["tracking_uri"]), str(conf["experiment"])
    if uri.startswith(("http://", "https://")):
        click.echo(f"the record is at {uri}, experiment {name}")
        return
    file = root / uri.removeprefix("sqlite:///")
    experiment = experiment_of(file, name)
    moved.follow(file, root, str(conf["artifacts"]))
    require_free(port, "radrl ui")
    server = f"http://127.0.0.1:{port}"
    arms = f"{server}{address(experiment, ARMS)}"
    for view, what in {ARMS: "arms", CURVES: "curves", MODELS: "models"}.items():
        click.echo(f"{what:8}{server}{address(experiment, view)}")
    with _started(root, file, port, artifacts=root / str(conf["artifacts"])) as running:
        if sys.stdout.isatty() if opens is None else opens:
            _open(arms, port, running)
        if code := running.wait():
            raise click.ClickException(f"MLflow's server ended with status {code}; its message stands above")


@contextmanager
def _started(root: Path, file: Path, port: int, *, artifacts: Path) -> Iterator[subprocess.Popen[bytes]]:
    """MLflow's server, which ends with the block."""
    words = ["server", "--backend-store-uri", f"sqlite:///{file}", "--host", "127.0.0.1", "--port", str(port)]
    words += [
        "--default-artifact-root",
        str(artifacts),
        "--workers",
        "1",
        "--uvicorn-opts",
        f"--log-level warning --http {PROTOCOL}",
    ]
    if entry_points(group="mlflow.app", name=APP):  # not in one installed before there was such a server
        words += ["--app-name", APP]
    with started(root, "mlflow", words, _QUIET) as server:
        yield server


def _open(address: str, port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                webbrowser.open(address)
                return
        time.sleep(0.3)
