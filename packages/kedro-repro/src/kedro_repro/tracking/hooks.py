"""Kedro hooks: runs are recorded in MLflow, one for each stage and namespace.

They do nothing unless the project's table has a section ``mlflow``: ``experiment``, and ``tracking-uri``, by
default a file of SQLite at the project's root. The variable MLFLOW_TRACKING_URI wins, ``off`` switches them
off. kedro-mlflow opens one run for a whole `kedro run`, which cannot tell namespaces apart; hence these.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline.node import Node

from kedro_repro.dvc_digests import ByDvc
from kedro_repro.hooks import path_of
from kedro_repro.project import Project, load
from kedro_repro.tracking import killed_runs, parent_runs, sqlite_store
from kedro_repro.tracking.close_on_signal import ClosedAtTheEnd
from kedro_repro.tracking.git_identity import identity

if TYPE_CHECKING:
    from mlflow import MlflowClient

STORE: Final = "sqlite:///mlflow.db"
STAGE: Final = "stage"
"""The tag that names a run's stage as DVC does, such as ``train@grpo``."""

_PARAMS: Final = "params:"
_LONGEST: Final = 6000
"""Characters that MLflow allows a parameter."""


class MlflowHooks:
    """Records what each stage was started with, what it read and wrote by DVC's digests, and its metrics."""

    def __init__(self) -> None:
        self._project: Project | None = None
        self._runs: dict[str, str] = {}
        self._now = ""
        self._closed = ClosedAtTheEnd(lambda: self._end("KILLED"))

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Read what the project says of its record."""
        project = load(Path(context.project_path))
        said = project.mlflow
        self._uri = os.environ.get("MLFLOW_TRACKING_URI", (said or {}).get("tracking-uri", STORE))
        self._project = None if said is None or self._uri == "off" else project
        self._runs, self._now = {}, ""

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Keep the catalog, which says where datasets lie and which hold metrics."""
        self._catalog = catalog

    @hook_impl
    def before_node_run(self, node: Node, inputs: Mapping[str, Any]) -> None:
        """Go on in the run of the node's stage, opening it the first time; note what the node takes."""
        if not (project := self._project):
            return
        self._enter(project, stage_of(node, project))
        from mlflow.entities import Param

        flat = dict(_flat(name, value) for name, value in _parameters(inputs))
        known = self._client.get_run(self._now).data.params
        fresh = [Param(key, text) for key, text in flat.items() if key not in known]
        self._client.log_batch(self._now, params=fresh)
        for name in inputs:
            self._digest(project, "read", name)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Note the digest of what was written, and numbers where the catalog says ``mlflow: metrics``."""
        if not (project := self._project) or not self._now:
            return
        self._digest(project, "written", dataset_name)
        metadata = getattr(self._catalog.get(dataset_name), "metadata", None) or {}
        if metadata.get("mlflow") == "metrics":
            for name, value in data.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    self._client.log_metric(self._now, name, float(value))

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Close the runs."""
        self._end("FINISHED")

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Mark the run that failed; those of stages before it have finished."""
        self._end("FAILED")

    def _enter(self, project: Project, stage: str) -> None:
        if not self._runs:
            self._open_record(project)
            self._closed.begin()
        if stage not in self._runs:
            tags = {STAGE: stage, "mlflow.runName": stage, **killed_runs.marks(), **identity(project.root)}
            if self._parent:
                tags |= {parent_runs.STAGE: self._group, parent_runs.PARENT: self._parent}
            self._runs[stage] = self._client.create_run(self._experiment, tags=tags).info.run_id
        self._now = self._runs[stage]

    def _open_record(self, project: Project) -> None:
        scheme, _, rest = self._uri.partition(":///")
        if scheme == "sqlite":
            sqlite_store.ensure(project.root / rest)
        from mlflow import MlflowClient

        uri = f"{scheme}:///{project.root / rest}" if scheme == "sqlite" else self._uri
        self._client: MlflowClient = MlflowClient(uri)
        self._group = os.environ.get(project.group_variable, "").replace('"', "'")
        with sqlite_store.one_at_a_time(project.root / "mlflow.db"):
            name = str((project.mlflow or {}).get("experiment", project.package))
            found = self._client.get_experiment_by_name(name)
            self._experiment = found.experiment_id if found else self._client.create_experiment(name)
            killed_runs.close(self._client, self._experiment)
            self._parent = (
                parent_runs.opened(self._client, self._experiment, self._group, identity(project.root))
                if self._group
                else ""
            )

    def _digest(self, project: Project, verb: str, dataset: str) -> None:
        path = path_of(self._catalog, dataset)
        if path is not None and path.exists():
            self._client.set_tag(self._now, f"{verb}.{dataset}", ByDvc(project.root)(path).short)

    def _end(self, status: str) -> None:
        if not self._runs or not self._project:
            return
        for run in self._runs.values():
            self._client.set_terminated(run, status if run == self._now else "FINISHED")
        if self._parent:
            with sqlite_store.one_at_a_time(self._project.root / "mlflow.db"):
                parent_runs.settle(self._client, self._experiment, self._parent, status)
        self._runs, self._now = {}, ""
        self._closed.end()


def stage_of(node: Node, project: Project) -> str:
    """The stage that a node belongs to, as DVC names it.

    Args:
        node: of a pipeline that runs.
        project: whose stages there are.
    """
    if stage := os.environ.get("DVC_STAGE", "").rpartition(":")[2]:
        return stage
    from kedro.framework.project import pipelines

    for name in project.stages:
        if name in pipelines and any(own.name == node.name for own in pipelines[name].nodes):
            return f"{name}@{node.namespace}" if project.stages[name].get("foreach") else name
    return ""


def _parameters(inputs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a node takes of params.yaml, by key, as deep as it goes."""
    for name, value in inputs.items():
        if name.startswith(_PARAMS):
            yield from _leaves(name.removeprefix(_PARAMS), value)


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(f"{key}.{name}", inner)
    else:
        yield key, value


def _flat(key: str, value: Any) -> tuple[str, str]:
    return key, str(value)[:_LONGEST]


hooks: Final = MlflowHooks()
"""What Kedro registers."""
