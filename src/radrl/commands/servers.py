"""`radrl ui`, MLflow's pages of the record, and `radrl serve`, a trained policy: HTTP on this machine."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import click

from kedro_repro.tracking import moved_project
from radrl.commands.project import project_folder
from radrl.storage import yaml_files
from radrl.wiring.ui_server import ARMS, CURVES, MODELS, address

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


NOTICE: Final = "Research software, not a medical device: no report of it may be used to care for a patient."

SERVE_APP: Final = "radrl.wiring.served:create_app"
MODEL: Final = "RADRL_SERVED_MODEL"
"""The variable by which `SERVE_APP` is told its model."""

ALLOCATOR: Final = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 20),
    "MALLOC_ARENA_MAX": "2",
}
"""One allocator for all of a process, which gives large blocks back as they are freed."""

_SERVE_EXAMPLES: Final = """\b
Examples:
  radrl serve deer
  radrl serve models:/m-5577... --port 5002
  radrl serve models:/chest-reports/1"""


@click.command("serve", epilog=_SERVE_EXAMPLES)
@click.argument("model")
@click.option("--port", type=click.IntRange(1, 65535), default=5001, show_default=True)
def serve(model: str, port: int) -> None:
    """Serve MODEL on this machine alone, until Ctrl-C: films in, reports and labels out.

    MODEL is an arm, whose newest model in the record is taken, or an address of MLflow's: models:/..., or a
    model's folder. Requests and answers are those of `mlflow models serve`, as JSON. What is too large, too
    slow, no film or no request is answered with a 4xx and the reason.
    """
    root = project_folder(Path.cwd())
    conf = own_conf(root)
    uri = str(conf["tracking_uri"])
    if uri.startswith("sqlite:///"):
        file = root / uri.removeprefix("sqlite:///")
        uri = f"sqlite:///{file}"
        if file.is_file():
            moved_project.follow(file, root, str(conf["artifacts"]))
    address = _address(model, uri, str(conf["experiment"]))
    require_free(port, f"radrl serve {model}")
    click.echo(NOTICE, err=True)
    click.echo(f"serves  http://127.0.0.1:{port}/invocations")
    words = ["--factory", SERVE_APP, "--host", "127.0.0.1", "--port", str(port), "--http", PROTOCOL]
    words += ["--log-level", "warning", "--no-access-log"]
    with started(root, "uvicorn", words, {MODEL: address, "MLFLOW_TRACKING_URI": uri} | ALLOCATOR) as running:
        if code := running.wait():
            raise click.ClickException(f"the server ended with status {code}; its message stands above")


def _address(model: str, uri: str, experiment: str) -> str:
    """Where MLflow finds the model."""
    if ":/" in model or Path(model).is_dir():
        return model if ":/" in model else str(Path(model).resolve())
    if not uri.startswith("sqlite:///"):
        raise click.ClickException(
            f"{model!r} is no address, and arms are looked up in a record of this machine alone. Mend: copy "
            "the model's address from the page Models, models:/m-..."
        )
    file = Path(uri.removeprefix("sqlite:///"))
    own = experiment_of(file, experiment)
    asked = "SELECT model_id, name FROM logged_models WHERE experiment_id = ? AND lifecycle_stage = 'active'"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as base:
        found = base.execute(f"{asked} ORDER BY creation_timestamp_ms", (own,)).fetchall()
    newest = {name: number for number, name in found}
    if model not in newest:
        raise click.ClickException(
            f"the record has no model of an arm {model!r}; it has {', '.join(sorted(newest)) or 'none'}. "
            f"Mend: radrl repro train@{model}, with `models` in conf/base/mlflow.yml (docs/reporting.md)"
        )
    return f"models:/{newest[model]}"


_UI_EXAMPLES: Final = """\b
Examples:
  radrl ui
  radrl ui --port 5001 --no-open"""

UI_APP: Final = "radrl"
"""Name by which MLflow's command knows `radrl.wiring.ui_server`."""

_QUIET: Final = {
    "DO_NOT_TRACK": "true",  # MLflow knows no other spelling
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # five workers of 240 MB for judges of language models
}


@click.command("ui", epilog=_UI_EXAMPLES)
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True)
@click.option(
    "--open/--no-open", "opens", default=None, help="Open the page in a browser.  [default: on a terminal]"
)
def ui(port: int, opens: bool | None) -> None:
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
    moved_project.follow(file, root, str(conf["artifacts"]))
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
    if entry_points(group="mlflow.app", name=UI_APP):  # not in one installed before there was such a server
        words += ["--app-name", UI_APP]
    with started(root, "mlflow", words, _QUIET) as server:
        yield server


def _open(address: str, port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                webbrowser.open(address)
                return
        time.sleep(0.3)
