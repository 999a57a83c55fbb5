"""A project that was moved or copied still shows its files, and keeps its new ones where it is."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from mlflow import MlflowClient

from kedro_repro.tracking import moved_project
from radrl.wiring.tracker import Tracker

CONF = {"tracking_uri": "sqlite:///mlflow.db", "artifacts": "mlartifacts", "experiment": "radrl"}


def record(project: Path, arm: str, conf: dict[str, str] = CONF) -> None:
    """A run with a file."""
    tracker = Tracker(conf, project)
    tracker.enter("eval", arm)
    (project / f"{arm}.csv").write_text(arm)
    tracker.artifact(project / f"{arm}.csv")
    tracker.leave("FINISHED")


def files(project: Path) -> dict[str, Path]:
    """By name the files of all runs, as MLflow finds them."""
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    runs = client.search_runs([client.get_experiment_by_name("radrl").experiment_id])
    return {
        entry.path: Path(unquote(urlsplit(run.info.artifact_uri).path)) / entry.path
        for run in runs
        for entry in client.list_artifacts(run.info.run_id)
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "first place"  # a blank is %20 in an address
    folder.mkdir()
    record(folder, "sft")
    return folder


def test_a_moved_project_shows_its_files(project: Path, tmp_path: Path) -> None:
    there = project.rename(tmp_path / "elsewhere")
    assert moved_project.follow(there / "mlflow.db", there, "mlartifacts") == 2  # the experiment and its run
    assert moved_project.follow(there / "mlflow.db", there, "mlartifacts") == 0
    (found,) = files(there).values()
    assert found.is_relative_to(there)
    assert found.read_text() == "sft"


def test_a_copy_writes_into_its_own_folder(project: Path, tmp_path: Path) -> None:
    there = Path(shutil.copytree(project, tmp_path / "copy"))
    record(there, "grpo")
    assert set(files(there)) == {"sft.csv", "grpo.csv"}
    assert all(file.is_relative_to(there) for file in files(there).values())
    assert set(files(project)) == {"sft.csv"}
    assert len(list((project / "mlartifacts").rglob("*.csv"))) == 1


def test_files_that_did_not_come_along_or_lie_elsewhere_are_left_where_they_are(
    project: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(project / "mlflow.db", alone)
    assert moved_project.follow(alone / "mlflow.db", alone, "mlartifacts") == 0
    (alone / "mlartifacts").mkdir()
    (alone / "artifacts").mkdir()
    assert moved_project.follow(alone / "mlflow.db", alone, "artifacts") == 0  # another folder's name
    assert moved_project.follow(alone / "mlflow.db", alone, str(alone / "mlartifacts")) == 0
    assert set(files(alone)) == {"sft.csv"}
    assert moved_project.follow(alone / "none.db", alone, "mlartifacts") == 0
    assert not (alone / "none.db").exists()
