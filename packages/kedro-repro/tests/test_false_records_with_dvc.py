"""A record of what did not run, under plain `dvc repro` in a clone of the project: the next one finds it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from faults.project import clone, variables

from kedro_repro.programs import DVC

pytestmark = pytest.mark.slow

LATE = """\
import atexit, os, pathlib

def edit():
    given = pathlib.Path(os.environ["LATE"])
    if os.environ.get("DVC_STAGE") == "ingest" and given.exists():
        given.rename("params.yaml")

atexit.register(edit)
hooks = object()
"""
"""A Kedro plugin that edits params.yaml as the process of a stage ends, after all hooks."""
KEY = "max_quarantined_share"


@pytest.fixture
def dvc(tmp_path: Path) -> Callable[..., str]:
    """Ask DVC in a clone that has not run; what it and its stages said."""
    folder, plugin = clone(tmp_path / "radrl"), tmp_path / "plugin"
    described = plugin / "late-1.dist-info"
    described.mkdir(parents=True)
    (plugin / "late.py").write_text(LATE)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1\n")
    (described / "entry_points.txt").write_text("[kedro.hooks]\nlate = late:hooks\n")
    given = variables(folder, MLFLOW_TRACKING_URI="off", LATE=str(tmp_path / "late.yaml"))
    given["PYTHONPATH"] += f":{plugin}"

    def ask(*arguments: str) -> str:
        done = subprocess.run([*DVC, *arguments], cwd=folder, env=given, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return ask


def test_the_next_dvc_repro_finds_it_says_so_and_runs_the_stage_again(dvc: Any, tmp_path: Path) -> None:
    folder, late = tmp_path / "radrl", tmp_path / "late.yaml"
    params = yaml.safe_load((folder / "params.yaml").read_text())
    params["ingest"][KEY] = 0.75
    late.write_text(yaml.safe_dump(params))

    def recorded() -> tuple[float, dict[str, str]]:
        lock = yaml.safe_load((folder / "dvc.lock").read_text())["stages"]["ingest"]["params"]
        return lock["params.yaml"]["ingest"][KEY], lock["data/08_reporting/code.yaml"]

    dvc("repro", "ingest")
    untrue, code = recorded()
    assert not late.exists()
    assert untrue == 0.75  # it ran with another
    said = dvc("repro", "ingest")
    assert f"dvc.lock said of ingest what did not run: ingest.{KEY} changed" in said
    assert "Running stage 'ingest'" in said
    assert recorded() == (0.75, code)  # by now it did, and of the mark nothing is left
    assert " again" not in (folder / "data/08_reporting/code.yaml").read_text()
    said = dvc("repro", "ingest")
    assert "Stage 'ingest' didn't change, skipping" in said
    assert "did not run" not in said
