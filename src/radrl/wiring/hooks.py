"""Kedro hooks: parameters are checked before anything loads, and every run is recorded in MLflow.

One MLflow run is one stage (of one arm), tagged `stage` and `arm`, so that `tags.stage = 'eval'` lists the
arms side by side whether they were run by DVC one by one or by Kedro in one process. Nodes know nothing of
it. kedro-mlflow opens one run for a whole `kedro run`, which cannot tell arms apart; hence these hooks.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import CatalogProtocol, MemoryDataset
from kedro.pipeline.node import Node

from radrl.params import schema
from radrl.params.base import ParamsError, local_paths
from radrl.parts.near import near
from radrl.storage.digests import sha256

if TYPE_CHECKING:
    from mlflow import MlflowClient

logger = logging.getLogger(__name__)

STEP_REPORT = "step_report"
"""Name of the catalog entry through which a training node reports its steps."""

OWN_SELECTION = "own_selection"
"""The stage whose namespaces are selections; those of all others are arms."""

HIDDEN = "(a local path)"
"""What the record of a run says in place of a parameter that is one."""


class ProjectHooks:
    """Refuses bad parameters before anything is loaded."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Check the parameters as this environment sees them.

        Raises:
            radrl.params.base.ParamsError: naming every wrong key, or the arm or stage that there is none of.
        """
        params = schema.validate(dict(context.params), source="params.yaml")
        _require_asked("namespaces", {**params.arms, **params.selection.own.parts()}, kind="arm")
        # Kedro's own refusal comes later, with a traceback and without the names there are
        for option in ("pipeline", "pipelines"):
            _require_asked(option, pipelines, kind="stage")


def _require_asked(option: str, valid: Collection[str], *, kind: str) -> None:
    """Refuse what `kedro run` was asked for by an option and there is none of."""
    command = click.get_current_context(silent=True)
    asked = (command and command.params.get(option)) or ()
    for name in [asked] if isinstance(asked, str) else asked:
        if name not in valid:
            known = f"{kind.capitalize()}s: {', '.join(valid)}"
            raise ParamsError(f"--{option}={name}: no such {kind}{near(name, valid)} {known}")


class TrackingHooks:
    """Records stages in MLflow on SQLite at the project's root."""

    def __init__(self) -> None:
        self._tracker: _Tracker | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Read conf/*/mlflow.yml; the variable MLFLOW_TRACKING_URI wins, ``off`` switches tracking off."""
        self._params = context.params
        self._drawn = context.params.get("ingest", {}).get("source") == "phantom"
        conf = dict(context.config_loader["tracking"])
        conf["tracking_uri"] = os.environ.get("MLFLOW_TRACKING_URI", conf["tracking_uri"])
        if conf["tracking_uri"] != "off":
            root = _record_root(Path(context.project_path))
            self._tracker = _Tracker(conf, root, _private(context.params))

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Hand training nodes a way to report their steps."""
        self._catalog = catalog
        catalog[STEP_REPORT] = MemoryDataset(self._report_step, copy_mode="assign")

    @hook_impl
    def before_node_run(self, node: Node, inputs: dict[str, Any]) -> None:
        """Open the run of the node's stage and arm; note its parameters and the digests of what it reads."""
        if not self._tracker or not node.outputs:  # a node that only prints leaves no record
            return
        self._tracker.enter(stage_of(node), node.namespace or "")
        self._tracker.parameters(self._parameters(node, inputs))
        for name in inputs:
            self._tracker.dataset(name, _path_of(self._catalog, name), "read")

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Note the digest of what was written, and keep what the catalog marks with `mlflow`."""
        path = _path_of(self._catalog, dataset_name)
        if not self._tracker or path is None:
            return
        self._tracker.dataset(dataset_name, path, "written")
        kind = (self._catalog.get(dataset_name).metadata or {}).get("mlflow")
        if kind == "metrics":
            self._tracker.metrics(data)
        elif kind == "artifact" or (kind == "artifact of drawn films" and self._drawn):
            self._tracker.artifact(path)

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Close the last run."""
        if self._tracker:
            self._tracker.leave("FINISHED")

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Mark the run that failed."""
        if self._tracker:
            self._tracker.leave("FAILED")

    def _parameters(self, node: Node, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What the node takes and, in a run of an arm, what makes the arm: as `arm`, whatever its name."""
        values = {
            k: v for k, v in inputs.items() if k.startswith("params:") and not k.startswith("params:arms.")
        }
        if node.namespace and stage_of(node) != OWN_SELECTION:
            arm = self._params["arms"][node.namespace]
            values |= {
                "params:arm": arm,
                "params:training": self._params["training"] | arm.get("training", {}),
            }
        return values

    def _report_step(self, step: int, metrics: Mapping[str, float]) -> None:
        if self._tracker:
            self._tracker.metrics(metrics, step=step)


class _Tracker:
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


def _private(params: Mapping[str, Any]) -> set[str]:
    """Keys of parameters that are local paths; an arm's also under `arm`, as its runs have it."""
    read = schema.validate(dict(params))
    return local_paths(read).union(*(local_paths(arm, "arm.") for arm in read.arms.values()))


def stage_of(node: Node) -> str:
    """The stage a node belongs to: the tag its pipeline gave it."""
    return next((tag.removeprefix("stage.") for tag in sorted(node.tags) if tag.startswith("stage.")), "")


def _record_root(project: Path) -> Path:
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


def _path_of(catalog: CatalogProtocol, name: str) -> Path | None:
    if name.startswith("params:") or name == "parameters" or name not in catalog:
        return None
    path = getattr(catalog.get(name), "_filepath", None)
    return Path(str(path)) if path is not None and not name.endswith("workspace") else None
