"""The project in a folder of its own, and `kedro run` there as one types it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from radrl.process import importing

ROOT = Path(__file__).resolve().parents[2]


def copy(target: Path) -> Path:
    """Code and settings, without data."""
    for name in ("src", "conf"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "kedro.yml", "params.yaml"):
        shutil.copy(ROOT / name, target)
    return target


def kedro_run(project: Path, *options: str) -> None:
    """With its record of runs, which the tests turn off elsewhere."""
    environment = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
    done = subprocess.run(
        [sys.executable, "-m", "kedro", "run", *options],
        cwd=project,
        env=environment
        | {"PYTHONPATH": importing.first(project / "src", os.environ), "DO_NOT_TRACK": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
