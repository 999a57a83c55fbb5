"""The record in MLflow: one run a stage (of one arm), its parameters, numbers, files and what it read."""

from __future__ import annotations

import json
import logging
import os
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radrl.storage.digests import sha256

if TYPE_CHECKING:
    from mlflow import MlflowClient

HIDDEN = "(a local path)"
"""What the record of a run says in place of a parameter that is one."""


class Tracker:
    """The one place that talks to MLflow."""

    def __init__(self, conf: Mapping[str, str], root: Path, private: Collection[str] = ()) -> None:
        self._conf, self._root, self._private = conf, root, private
        self._runs: dict[tuple[str, str], str] = {}
        self._run: str | None = None
        self._client_: MlflowClient | None = None

    @property
    def _client(self) -> MlflowClient:
        if self._client_ is None:
            from mlflow import MlflowClient  # 1.3 s, paid when the first run opens

            logging.getLogger("alembic").setLevel(logging.WARNING)
            uri = self._conf["tracking_uri"]
            scheme, _, rest = uri.partition(":///")
            self._client_ = MlflowClient(f"{scheme}:///{self._root / rest}" if scheme == "sqlite" else uri)
        return self._client_

    def enter(self, stage: str, arm: str) -> None:
        """Go on in the run of this stage and arm, opening it the first time: Kedro lets arms take turns."""
        known = self._runs.get((stage, arm))
        if known and known == self._run:
            return
        self.leave("FINISHED")
        if known:
            self._client.update_run(known, status="RUNNING")
        self._run = self._runs[stage, arm] = known or self._open(stage, arm)

    def leave(self, status: str) -> None:
        """Close the open run, if any."""
        if self._run:
            self._client.set_terminated(self._run, status)
        self._run = None

    def _open(self, stage: str, arm: str) -> str:
        name = f"{stage} {arm}".strip()
        tags = {"mlflow.runName": name, "stage": stage, "arm": arm, **_identity(self._root)}
        run = self._client.create_run(self._experiment(), tags={k: v for k, v in tags.items() if v})
        return str(run.info.run_id)

    def parameters(self, inputs: Mapping[str, Any]) -> None:
        """Note parameters under the keys they have in params.yaml."""
        from mlflow.entities import Param

        flat = {
            k: v for name, value in inputs.items() for k, v in _flatten(name.removeprefix("params:"), value)
        }
        known = self._client.get_run(self._run).data.params
        public = {key: HIDDEN if value and key in self._private else value for key, value in flat.items()}
        fresh = [Param(key, str(value)[:6000]) for key, value in public.items() if key not in known]
        self._client.log_batch(self._run, params=fresh)

    def metrics(self, values: Mapping[str, Any], step: int = 0) -> None:
        """Note the numbers among the values."""
        from mlflow.entities import Metric
        from mlflow.utils.time import get_current_time_millis

        now = get_current_time_millis()
        flat = [(k, v) for name, value in values.items() for k, v in _flatten(str(name), value)]
        rows = [
            Metric(k, float(v), now, step)
            for k, v in flat
            if isinstance(v, (int, float)) and not isinstance(v, bool)
        ]
        for start in range(0, len(rows), 1000):
            self._client.log_batch(self._run, metrics=rows[start : start + 1000])

    def artifact(self, path: Path) -> None:
        """Keep a copy of a file."""
        self._client.log_artifact(self._run, str(path))

    def dataset(self, name: str, path: Path | None, context: str) -> None:
        """Note an artifact of the pipeline by name and digest, never by what is in it."""
        if path is None or not path.exists():
            return
        from mlflow.entities import Dataset, DatasetInput, InputTag

        entry = Dataset(name, sha256(path)[:32], "local", json.dumps({"uri": path.name}))
        self._client.log_inputs(self._run, [DatasetInput(entry, [InputTag("mlflow.data.context", context)])])

    def _experiment(self) -> str:
        from mlflow.exceptions import MlflowException

        name = self._conf["experiment"]
        artifacts = (self._root / self._conf["artifacts"]).as_uri()
        found = self._client.get_experiment_by_name(name)
        if not found:
            try:
                return str(self._client.create_experiment(name, artifact_location=artifacts))
            except MlflowException:  # a stage beside this one was first
                found = self._client.get_experiment_by_name(name)
                if not found:
                    raise
        return str(found.experiment_id)


def record_root(project: Path) -> Path:
    """The folder whose record takes a project's runs."""
    # `dvc exp run --temp` and queued experiments run in a copy that is thrown away; DVC_ROOT is the real one
    return Path(os.environ.get("DVC_ROOT", project)).resolve()


def _identity(root: Path) -> dict[str, str]:
    """Git commit and what DVC says of itself, so that a run can be found from the code and back."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False
    )
    dirty = subprocess.run(
        ["git", "status", "--porcelain", "-uno"], cwd=root, capture_output=True, text=True, check=False
    )
    tags = {"git.commit": commit.stdout.strip(), "git.dirty": str(bool(dirty.stdout.strip())).lower()}
    for name in ("DVC_STAGE", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV"):
        tags[name.lower().replace("_", ".", 1)] = os.environ.get(name, "")
    return tags


def _flatten(prefix: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [pair for key, inner in value.items() for pair in _flatten(f"{prefix}.{key}", inner)]
    return [(prefix, value)]
