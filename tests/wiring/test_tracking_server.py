"""The record on an MLflow server: on SQLite always, on PostgreSQL where that is; what an absent one costs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import servers
from kedro.pipeline import Pipeline
from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from kedro_repro.tracking.server import RecordError
from radrl.wiring import hooks
from radrl.wiring.hooks import TrackingHooks
from radrl.wiring.tracker import INCOMPLETE, Tracker

PROGRAMS = servers.postgres_programs()
WITHOUT_POSTGRES = (
    "no PostgreSQL: apt-get install postgresql"
    if PROGRAMS is None
    else "no psycopg2: pip install -c constraints.txt '.[test-storage]'"
    if find_spec("psycopg2") is None
    else ""
)
STEPS = 400


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server's address, and its folder."""
    folder = tmp_path_factory.mktemp("server")
    with servers.mlflow_server(folder, f"sqlite:///{folder}/store.db") as address:
        yield address, folder


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `prepare` sets stays in this test, and a server that is away is asked once."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")
    monkeypatch.setenv("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")


def tracker(address: str, project: Path, experiment: str) -> Tracker:
    conf = {"tracking_uri": address, "artifacts": "mlartifacts", "experiment": experiment}
    return Tracker(conf, project)


def stage(record: Tracker, project: Path) -> None:
    """A stage's record, as the hooks make it."""
    project.mkdir(exist_ok=True)
    (project / "table.csv").write_bytes(b"label\r\nedema\r\n")
    record.require()
    record.enter("train", "a_long_name_of_an_arm_" * 5)
    record.parameters({"params:training": {f"key{i}": i for i in range(250)}})
    record.dataset("corpus", project / "table.csv", "read")
    for step in range(1, STEPS + 1):
        record.metrics({"reward": step / 4, "kl": 0.5}, step=step)
    record.metrics({"f1": 0.5, "by": {"edema": 0.25}})
    record.artifact(project / "table.csv")
    record.leave("FINISHED")


def look(address: str, experiment: str) -> tuple[MlflowClient, Run]:
    client = MlflowClient(address)
    found = client.get_experiment_by_name(experiment)
    assert found.artifact_location.startswith("mlflow-artifacts:/")
    (run,) = client.search_runs([found.experiment_id])
    return client, run


def check(address: str, files: Path, project: Path, experiment: str) -> None:
    """All of a stage's record is on the server, and none of it here."""
    client, run = look(address, experiment)
    assert run.info.status == "FINISHED"
    assert len(run.data.params) == 250
    own = {"train/reward": STEPS / 4, "train/kl": 0.5, "train/f1": 0.5, "by/edema": 0.25}
    assert {name: one for name, one in run.data.metrics.items() if not name.startswith("usage/")} == own
    history = client.get_metric_history(run.info.run_id, "train/reward")
    assert [(one.step, one.value) for one in history] == [(i, i / 4) for i in range(1, STEPS + 1)]
    (read,) = run.inputs.dataset_inputs
    assert read.dataset.digest.startswith("sha256:")
    back = client.download_artifacts(run.info.run_id, "table.csv", str(project))
    assert Path(back).read_bytes() == b"label\r\nedema\r\n"
    assert [path.name for path in files.rglob("*.csv")] == ["table.csv"]
    assert not (project / "mlartifacts").exists()
    assert not (project / "mlflow.db").exists()


@pytest.mark.usefixtures("quick")
def test_a_server_takes_the_record_and_gives_it_back(on_sqlite: tuple[str, Path], tmp_path: Path) -> None:
    address, folder = on_sqlite
    project = tmp_path / "project"
    stage(tracker(address, project, "taken"), project)
    check(address, folder / "files", project, "taken")


@pytest.mark.skipif(bool(WITHOUT_POSTGRES), reason=WITHOUT_POSTGRES)
@pytest.mark.usefixtures("quick")
def test_a_server_on_postgresql_takes_the_record_and_gives_it_back(tmp_path: Path) -> None:
    assert PROGRAMS is not None
    with servers.postgres(PROGRAMS) as store, servers.mlflow_server(tmp_path, store) as address:
        project = tmp_path / "project"
        stage(tracker(address, project, "taken"), project)
        check(address, tmp_path / "files", project, "taken")
        import psycopg2

        with psycopg2.connect(store.replace("+psycopg2", "")) as connection, connection.cursor() as cursor:
            cursor.execute("select count(*) from metrics where key = 'reward'")
            assert cursor.fetchone() == (STEPS,)


@pytest.mark.usefixtures("quick")
def test_steps_go_to_a_server_in_batches(
    on_sqlite: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tracker(on_sqlite[0], tmp_path, "batches")
    record.enter("train", "grpo")
    sizes = []
    send = record._client.log_batch
    monkeypatch.setattr(
        record._client,
        "log_batch",
        lambda run, **values: sizes.append(len(values.get("metrics", ()))) or send(run, **values),
    )
    monkeypatch.setattr("radrl.wiring.tracker.EVERY", 3600.0)
    for step in range(1200):
        record.metrics({"reward": 1.0}, step=step)
    record.leave("FINISHED")
    # the first at once, so that a run that starts is seen to; then its machine, which are tags, and its cost
    assert sizes == [1, 0, 1000, 199 + 3]


@pytest.mark.usefixtures("quick")
def test_an_experiment_whose_files_lie_on_one_machine_is_pointed_out(
    on_sqlite: tuple[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    MlflowClient(on_sqlite[0]).create_experiment("old", artifact_location=tmp_path.as_uri())
    tracker(on_sqlite[0], tmp_path, "old").require()
    assert "experiment old" in caplog.text
    assert "conf/local/mlflow.yml" in caplog.text


@pytest.mark.usefixtures("quick")
def test_a_server_that_is_away_is_said_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "_private", lambda params: set())
    address = f"127.0.0.1:{servers.free_port()}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://reader:secret@{address}")
    looking = TrackingHooks()
    conf = {"tracking_uri": "sqlite:///mlflow.db", "artifacts": "mlartifacts", "experiment": "radrl"}
    looking.after_context_created(
        SimpleNamespace(config_loader={"tracking": conf}, project_path=tmp_path, params={})
    )
    with pytest.raises(RecordError, match=f"http://{address} does not take the record") as caught:
        looking.before_pipeline_run(Pipeline([]))
    assert "MLFLOW_TRACKING_URI=off" in str(caught.value)
    assert "docs/tracking-server.md" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.usefixtures("quick")
def test_a_server_that_goes_away_costs_the_record_and_not_the_training(
    on_sqlite: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    record = tracker(on_sqlite[0], tmp_path, "gone")
    record.enter("train", "grpo")
    send, away = record._client.log_batch, True

    def log_batch(run: str, **values: Any) -> None:
        if away:
            raise MlflowException("API request failed with exception Connection refused")
        send(run, **values)

    monkeypatch.setattr(record._client, "log_batch", log_batch)
    monkeypatch.setattr("radrl.wiring.tracker.EVERY", 0.0)
    monkeypatch.setattr("radrl.wiring.tracker.AGAIN", 0.0)
    with caplog.at_level(logging.WARNING):
        record.parameters({"params:training": {"steps": 3}})
        record.metrics({"reward": 1.0}, step=1)
        record.metrics({"reward": 2.0}, step=2)
    assert caplog.text.count("does not take the record") == 1
    away = False
    record.metrics({"reward": 3.0}, step=3)
    record.leave("FINISHED")
    client, run = look(on_sqlite[0], "gone")
    steps = [one.value for one in client.get_metric_history(run.info.run_id, "train/reward")]
    assert steps == [1.0, 2.0, 3.0]
    assert run.data.params == {}
    assert run.data.tags[INCOMPLETE] == "true"


@pytest.mark.usefixtures("quick")
def test_a_stage_that_ends_without_its_server_ends_well_and_says_what_is_missing(
    on_sqlite: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    record = tracker(on_sqlite[0], tmp_path, "lost")
    record.enter("train", "grpo")

    def refuse(*values: Any, **named: Any) -> None:
        raise ConnectionError("refused")

    for name in ("log_batch", "log_artifact", "set_tag", "set_terminated", "create_run"):
        monkeypatch.setattr(record._client, name, refuse)
    record.metrics({"reward": 1.0, "kl": 2.0}, step=1)
    record.artifact(tmp_path)
    record.enter("eval", "grpo")  # of which there will be no record
    record.metrics({"f1": 1.0})
    record.leave("FINISHED")
    assert "5 numbers of run" in caplog.text  # three of them its cost
