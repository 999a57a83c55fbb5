"""MLflow's data base: whole or not there, however often making it was broken off."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from mlflow import MlflowClient

from kedro_repro.tracking import sqlite_store


def half_made(file: Path) -> None:
    """Some of the tables, as a kill leaves it."""
    with closing(sqlite3.connect(file)) as base:
        base.execute("CREATE TABLE runs (run_uuid VARCHAR(32))")
        base.execute("CREATE TABLE experiments (experiment_id INTEGER)")
        base.commit()


def test_a_data_base_is_made_where_there_is_none_and_kept_where_there_is(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    sqlite_store.ensure(file)
    run = MlflowClient(f"sqlite:///{file}").create_run("0").info.run_id
    sqlite_store.ensure(file)
    assert MlflowClient(f"sqlite:///{file}").get_run(run)
    assert {path.name for path in tmp_path.iterdir()} <= {"mlflow.db", ".mlflow.db.lock", "mlruns"}


def test_one_that_a_kill_left_half_made_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "mlflow.db"
    half_made(file)
    (tmp_path / ".mlflow.db.partial").write_text("of another start")
    sqlite_store.ensure(file)
    assert MlflowClient(f"sqlite:///{file}").create_run("0")


def test_an_empty_file_is_no_data_base(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").touch()
    sqlite_store.ensure(tmp_path / "mlflow.db")
    assert MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}").search_experiments()
