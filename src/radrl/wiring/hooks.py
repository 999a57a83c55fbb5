"""Kedro hooks: parameters are checked, and runs are recorded in MLflow.

One MLflow run is one stage (of one arm), tagged `stage` and `arm`, so that `tags.stage = 'eval'` lists the
arms side by side whether they were run by DVC one by one or by Kedro in one process. Nodes know nothing of
it. kedro-mlflow opens one run for a whole `kedro run`, which cannot tell arms apart; hence these hooks.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol, MemoryDataset
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from kedro_repro.dvc_digests import ByDvc
from kedro_repro.hooks import path_of
from kedro_repro.tracking.close_on_signal import ClosedAtTheEnd
from kedro_repro.tracking.git_identity import record_root
from radrl.datasets import ArrowShards, ParquetShards
from radrl.pages.page import of_an_earlier_run
from radrl.params import schema
from radrl.params.messages import ParamsError, local_paths
from radrl.params.schema import Compute
from radrl.parts.choices import near
from radrl.pipelines.stages import ALL, COMPUTE, OBSERVERS, PER_SELECTION, SELECTED, STEP_REPORT
from radrl.process import run_group
from radrl.training import length
from radrl.wiring.tracker import Tracker
from radrl.wiring.ui_server import HEADLINE, STEPS

if TYPE_CHECKING:
    from transformers import TrainerCallback

    from radrl.pipelines.train import Pictures


SYSTEMS = "systems"
"""Name of the entry with the scores of other systems."""


class ProjectHooks:
    """Refuses bad parameters, and files they name that are no good, before anything is loaded."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Check the parameters as this environment sees them.

        Raises:
            radrl.params.messages.ParamsError: naming each wrong key, or the arm or stage that is none.
        """
        params = schema.validate(dict(context.params), source=_files(context))
        _require_asked("namespaces", {**params.arms, **params.selection.own.parts()}, kind="arm")
        # Kedro's own refusal comes later, with a traceback and without the names there are
        for option in ("pipeline", "pipelines"):
            _require_asked(option, (*ALL, "__default__"), kind="stage")
        self._compare = context.params["compare"]

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Look at the files of `compare.systems`: the stage that reads them comes after all training.

        Raises:
            radrl.params.messages.ParamsError: naming the key and the mend.
        """
        if self._compare["systems"]:
            from radrl.pipelines.compare import rows

            rows.read_systems(catalog[SYSTEMS].load(), self._compare)


def _files(context: KedroContext) -> str:
    """Where the parameters stand, for a message: an environment's file may have changed params.yaml's."""
    own = sorted((context.project_path / "conf" / (context.env or "local")).glob("parameters*"))
    changed = " and ".join(str(file.relative_to(context.project_path)) for file in own)
    return f"params.yaml, as {changed} changes it," if changed else "params.yaml"


def _require_asked(option: str, valid: Collection[str], *, kind: str) -> None:
    """Refuse what `kedro run` was asked for by an option and there is none of."""
    command = click.get_current_context(silent=True)
    asked = (command and command.params.get(option)) or ()
    for name in [asked] if isinstance(asked, str) else asked:
        if name not in valid:
            known = f"{kind.capitalize()}s: {', '.join(valid)}"
            raise ParamsError(f"--{option}={name}: no such {kind}{near(name, valid)} {known}")


class TrackingHooks:
    """Records stages in MLflow: on SQLite at the project's root, or on a server."""

    def __init__(self) -> None:
        self._tracker: Tracker | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Read conf/*/mlflow.yml; the variable MLFLOW_TRACKING_URI wins, ``off`` switches tracking off."""
        self._params = context.params
        self._compute = Compute.model_validate(context.params.get("compute") or {}).model_dump()
        self._drawn = _source(context.params) == "phantom"
        conf = dict(context.config_loader["tracking"])
        conf["tracking_uri"] = os.environ.get("MLFLOW_TRACKING_URI", conf["tracking_uri"])
        if conf["tracking_uri"] != "off":
            self._models = conf.get("models", "none")
            conf["headline"] = context.params.get("eval", {}).get("headline", ())
            compared = context.params.get("compare", {}).get("metrics", ())
            self._compared = [*dict.fromkeys([*conf["headline"], *compared])]
            conf["watched"] = _watched(context.params)
            conf["study"] = run_group.name(os.environ)
            root = record_root(Path(context.project_path))
            digest = ByDvc(Path(context.project_path))
            tracker = self._tracker = Tracker(conf, root, _private(context.params), digest)
            self._killed = ClosedAtTheEnd(lambda: tracker.leave("KILLED"))

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Hand training nodes a way to report their steps, and those who look on."""
        self._catalog = catalog
        catalog[STEP_REPORT] = MemoryDataset(self._report_step, copy_mode="assign")
        catalog[OBSERVERS] = MemoryDataset(self._observers, copy_mode="assign")
        catalog[COMPUTE] = MemoryDataset(self._compute, copy_mode="assign")

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Find out whether the server is there, before hours of training; several stages have a run above.

        Raises:
            kedro_repro.tracking.server.RecordError: naming the server and the mend.
        """
        if not self._tracker:
            return
        self._tracker.require()
        if len({(stage_of(node), node.namespace) for node in pipeline.nodes if node.outputs}) > 1:
            self._tracker.below(run_group.now("kedro run"))
        self._killed.begin()

    @hook_impl
    def before_node_run(self, node: Node, inputs: dict[str, Any]) -> None:
        """Open the run of the node's stage and arm; note its parameters and the digests of what it reads."""
        if not self._tracker or not node.outputs:  # a node that only prints leaves no record
            return
        self._tracker.enter(stage_of(node), node.namespace or "", self._labels(node))
        self._tracker.parameters(self._parameters(node, inputs))
        for name, data in inputs.items():
            self._tracker.dataset(name, path_of(self._catalog, name), "read", data)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Note the digest of what was written, and keep what the catalog marks with `mlflow`."""
        path = path_of(self._catalog, dataset_name)
        if not self._tracker or path is None:
            return
        own = self._catalog.get(dataset_name)
        # what was saved shard by shard is gone; opened, its columns are read and nothing else
        shown = own.load() if isinstance(own, (ArrowShards, ParquetShards)) else data
        self._tracker.dataset(dataset_name, path, "written", shown)
        marked = own.metadata or {}
        kind, drawn_alone, _ = str(marked.get("mlflow", "")).partition(" of drawn films")
        if drawn_alone and not self._drawn:
            return
        if kind == "metrics":
            # all the hundreds of scores would be as many columns of the page of models
            own = [name for name in self._compared if name in data] if "mlflow_model" in marked else []
            if own:
                of = self._tracker.scored(marked["mlflow_model"])
                self._tracker.metrics({name: data[name] for name in own}, of=of)
            self._tracker.metrics({name: value for name, value in data.items() if name not in own})
        elif kind == "headline":
            self._tracker.metrics({f"{HEADLINE}/{name}": value for name, value in data.items()})
        elif kind == "policy" and (self._models == "all" or (self._models == "drawn" and self._drawn)):
            arm = dataset_name.rpartition(".")[0]
            self._tracker.policy(path, schema.validate(dict(self._params)), arm, self._recipe(arm))
        elif kind == "table":
            self._tracker.table(dataset_name.rpartition(".")[2], data)
        elif kind == "artifact":
            self._tracker.artifact(path)
        elif kind == "page":
            self._tracker.page(path)
        if "mlflow_arms" in marked:
            self._tracker.artifact_of_arms(path, marked["mlflow_arms"])

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Close the last run."""
        self._end("FINISHED")

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Mark the run that failed."""
        self._end("FAILED")

    def _end(self, status: str) -> None:
        if self._tracker:
            self._tracker.leave(status)
            self._killed.end()

    def _labels(self, node: Node) -> dict[str, str]:
        """Plain values of a run to search and sort by; what a part is set to stands in the parameters."""
        labels = {"seed": str(self._params.get("seed", "")), "source": str(_source(self._params))}
        if not node.namespace or stage_of(node) == PER_SELECTION:
            return labels
        return labels | self._recipe(node.namespace)

    def _recipe(self, name: str) -> dict[str, str]:
        """What makes an arm, by name."""
        arm = self._params["arms"][name]
        named = {key: _names(arm.get(key)) for key in ("start", "selection", "reward", "credit", "oracle")}
        return {key: value for key, value in named.items() if value}

    def _parameters(self, node: Node, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What the node takes and, in a run of an arm, what makes the arm: as `arm`, whatever its name."""
        values = {
            k: v for k, v in inputs.items() if k.startswith("params:") and not k.startswith("params:arms.")
        }
        if node.namespace and stage_of(node) != PER_SELECTION:
            arm = self._params["arms"][node.namespace]
            values |= {
                "params:arm": arm,
                "params:training": length.of_arm(self._params["training"], arm.get("training", {})),
            }
        return values

    def _observers(self, arm: Mapping[str, Any], pictures: Pictures) -> list[TrainerCallback]:
        from radrl.training.watching.progress import observers

        # its page shows films and reports: the record has it where they are nobody's
        return observers(arm, pictures, self._tracker.artifact if self._tracker and self._drawn else None)

    def _report_step(self, step: int, metrics: Mapping[str, float]) -> None:
        if self._tracker:
            self._tracker.metrics(metrics, step=step, section=STEPS)


def _source(params: Mapping[str, Any]) -> str:
    return str(params.get("ingest", {}).get("source", ""))


def _watched(params: Mapping[str, Any]) -> str:
    """By which number a training's looks at validation films are judged; empty where there are none."""
    watch = params.get("training", {}).get("watch")
    return f"watch/ce_{params['labeler']['name']}_{watch['metric']}" if watch else ""


def _names(part: str | Mapping[str, Any] | None) -> str:
    """The parts an arm names under a key, without their settings: `ce_f1 + bleu2`, `gradient`, `none`.

    An oracle has settings and no name: it is adaptive or none.
    """
    if not isinstance(part, Mapping):
        return part or ""
    if "momentum" in part:
        return "adaptive"
    return " + ".join(name for name, own in part.items() if own is not None)


def _private(params: Mapping[str, Any]) -> set[str]:
    """Keys of parameters that are local paths; an arm's also under `arm`, as its runs have it."""
    read = schema.validate(dict(params))
    return local_paths(read).union(*(local_paths(arm, "arm.") for arm in read.arms.values()))


def stage_of(node: Node) -> str:
    """The stage a node belongs to: the tag its pipeline gave it."""
    return next((tag.removeprefix("stage.") for tag in sorted(node.tags) if tag.startswith("stage.")), "")


class SelectedHooks:
    """Brings the entry `SELECTED`."""

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Nothing is read before a node asks."""
        catalog[SELECTED] = MemoryDataset(partial(_read, catalog), copy_mode="assign")


def _read(catalog: CatalogProtocol, *names: str) -> dict[str, Any]:
    return {name: catalog[name].load() for name in names if catalog[name].exists()}


logger = logging.getLogger(__name__)

PAGE: Final = "comparison_page"
"""The page's entry of the catalog."""


class LastWordHooks:
    """Names the page, as `radrl repro` does where it runs the stages."""

    def __init__(self) -> None:
        self._root, self._page, self._written = Path(), Path(), False

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Keep the project's folder, from which the page is named."""
        self._root = Path(context.project_path)

    @hook_impl
    def after_catalog_created(self, catalog: CatalogProtocol) -> None:
        """Keep where the environment has the page."""
        self._page, self._written = Path(catalog[PAGE]._filepath), False

    @hook_impl
    def after_dataset_saved(self, dataset_name: str) -> None:
        """Note that this run wrote the page."""
        self._written = self._written or dataset_name == PAGE

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Say where it lies."""
        if self._written and "DVC_STAGE" not in os.environ:
            logger.info("the page: %s", os.path.relpath(self._page, self._root))

    @hook_impl
    def on_pipeline_error(self, pipeline: Pipeline) -> None:
        """Say that the page that lies there is of an earlier run, where this one was to write it."""
        if self._written or PAGE not in pipeline.outputs() or "DVC_STAGE" in os.environ:
            return
        if said := of_an_earlier_run(self._page, self._root):
            logger.warning(said)
