"""A model and a record to serve: an untrained policy of some thousand weights, and a run with numbers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import psutil
import yaml

ROOT: Final = Path(__file__).resolve().parents[2]
PROMPT: Final = "Write the findings."
PATIENCE: Final = 180.0
"""Seconds that a server has to come up."""

SHAPE: Final = {
    "vocab_size": 320,
    "hidden": 32,
    "layers": 2,
    "heads": 2,
    "kv_heads": 1,
    "feed_forward": 48,
    "vision_hidden": 32,
    "vision_layers": 2,
    "vision_heads": 2,
    "vision_feed_forward": 48,
    "patch_size": 14,
    "merge_size": 2,
}


def project(folder: Path) -> tuple[str, str, str]:
    """Make a project whose record has an arm's model and its runs.

    Args:
        folder: there is none yet.

    Returns:
        The model's address, the experiment's id, and a run's.
    """
    from radrl.params.schema import validate
    from radrl.policy import folder as policies
    from radrl.policy import tiny
    from radrl.wiring.tracker import Tracker

    (folder / "conf/recipes").mkdir(parents=True)
    (folder / "conf/base").mkdir()
    (folder / "dvc.yaml").touch()
    conf = {"tracking_uri": "sqlite:///mlflow.db", "artifacts": "mlartifacts", "experiment": "radrl"}
    (folder / "conf/base/mlflow.yml").write_text(yaml.safe_dump(conf))
    params: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["ingest"]["image_size"], params["generate"]["max_new_tokens"] = 56, 16
    tokenizer = tiny.train_tokenizer([PROMPT, "The lungs are clear."], SHAPE["vocab_size"])
    policies.save(tiny.build(tokenizer, image_size=56, shape=SHAPE, seed=0), folder / "policy")
    tracker = Tracker(conf | {"model_megabytes": 100}, folder)
    tracker.enter("train", "deer")
    tracker.policy(folder / "policy", validate(params), "deer")
    for step in range(20):
        tracker.metrics({"reward": step / 20}, step, section="training")
    run = str(tracker._run)
    tracker.leave("FINISHED")
    experiment = tracker._experiment()
    (model,) = tracker._client.search_logged_models([experiment])
    return f"models:/{model.model_id}", experiment, run


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def words(server: str, model: str, port: int) -> list[str]:
    """The command that starts a server.

    Args:
        server: `serve`, `ui`, or `mlflow`, MLflow's own server of models.
        model: its address.
        port: for it.
    """
    own = [sys.executable, "-m", "radrl.commands"]
    plain = [
        "models",
        "serve",
        "-m",
        model,
        "--env-manager",
        "local",
        "--host",
        "127.0.0.1",
        "--workers",
        "1",
    ]
    return {
        "serve": [*own, "serve", model, "--port", str(port)],
        "ui": [*own, "ui", "--no-open", "--port", str(port)],
        "mlflow": [sys.executable, "-m", "mlflow", *plain, "--port", str(port)],
    }[server]


@contextmanager
def running(command: list[str], folder: Path, port: int, log: Path) -> Iterator[psutil.Process]:
    """A server, which ends with the block.

    Args:
        command: of `words`.
        folder: the project's.
        port: on which it answers `/health`.
        log: takes what it says.
    """
    with log.open("wb") as stream:
        started = subprocess.Popen(command, cwd=folder, env=_variables(folder), stdout=stream, stderr=stream)
        try:
            _await(port, started, log)
            yield psutil.Process(started.pid)
        finally:
            children = psutil.Process(started.pid).children(recursive=True) if started.poll() is None else []
            started.terminate()
            started.wait(timeout=60)
            for child in children:  # MLflow's server of models leaves its own behind
                if child.is_running():
                    child.kill()


def _variables(folder: Path) -> Mapping[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    own = {"PYTHONPATH": path, "DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    return os.environ | own | {"MLFLOW_TRACKING_URI": f"sqlite:///{folder / 'mlflow.db'}"}


def _await(port: int, started: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and started.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"no server: {log.read_text(errors='replace')[-2000:]}")
