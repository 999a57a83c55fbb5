"""The experiment in MLflow: made and described by one process at a time, where stages begin side by side."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from radrl.wiring import ui_server
from radrl.wiring.tracker import Tracker

CONF = {"tracking_uri": "sqlite:///mlflow.db", "experiment": "radrl", "artifacts": "mlartifacts"}


def held(root: Path) -> bool:
    """Whether somebody is in the block that processes enter one after another."""
    with (root / ".mlflow.db.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_tags_are_set_while_no_other_stage_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that set one at once: `UNIQUE constraint failed: experiment_tags.key` ended a study."""
    seen: dict[str, bool] = {}
    plain = MlflowClient.set_experiment_tag

    def watched(client: MlflowClient, experiment: str, key: str, value: Any) -> None:
        seen[key] = held(tmp_path)
        plain(client, experiment, key, value)

    monkeypatch.setattr(MlflowClient, "set_experiment_tag", watched)
    Tracker(CONF, tmp_path).enter("label", "")
    assert seen == dict.fromkeys(ui_server.tags(()), True)
    assert not held(tmp_path)
    seen.clear()
    Tracker(CONF, tmp_path).enter("policy", "")
    assert seen == {}  # they stand there


def test_the_experiment_is_made_while_no_other_stage_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    plain = MlflowClient.create_experiment

    def watched(client: MlflowClient, *given: Any, **named: Any) -> str:
        seen.append(held(tmp_path))
        return plain(client, *given, **named)

    monkeypatch.setattr(MlflowClient, "create_experiment", watched)
    for stage in ("label", "policy"):
        Tracker(CONF, tmp_path).enter(stage, "")
    assert seen == [True]
