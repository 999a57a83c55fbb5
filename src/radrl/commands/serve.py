"""`radrl serve`: a trained policy that was logged as a model, behind HTTP on this machine."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import click

from radrl.commands.project import project_folder
from radrl.commands.record import PROTOCOL, experiment_of, own_conf, require_free, started
from radrl.wiring import moved

NOTICE: Final = "Research software, not a medical device: no report of it may be used to care for a patient."

APP: Final = "radrl.wiring.serve_app:create_app"
MODEL: Final = "RADRL_SERVED_MODEL"
"""The variable by which `APP` is told its model."""

ALLOCATOR: Final = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 20),
    "MALLOC_ARENA_MAX": "2",
}
"""One allocator for all of a process, which gives large blocks back as they are freed."""

_EXAMPLES: Final = """\b
Examples:
  radrl serve deer
  radrl serve models:/m-5577... --port 5002
  radrl serve models:/chest-reports/1"""


@click.command("serve", epilog=_EXAMPLES)
@click.argument("model")
@click.option("--port", type=click.IntRange(1, 65535), default=5001, show_default=True)
def command(model: str, port: int) -> None:
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
            moved.follow(file, root, str(conf["artifacts"]))
    address = _address(model, uri, str(conf["experiment"]))
    require_free(port, f"radrl serve {model}")
    click.echo(NOTICE, err=True)
    click.echo(f"serves  http://127.0.0.1:{port}/invocations")
    words = ["--factory", APP, "--host", "127.0.0.1", "--port", str(port), "--http", PROTOCOL]
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
