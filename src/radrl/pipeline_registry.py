"""Every pipeline, by the name of its DVC stage.

`kedro run --pipeline=eval` runs a stage for every arm, `--namespaces=grpo` keeps one arm of it, and
`kedro run` runs the whole study in one process. Where a command names pipelines, those alone are imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Final

import click
from kedro.pipeline import Pipeline, pipeline

from radrl.params.schema import Params, read
from radrl.params.training import Arm
from radrl.pipelines.stages import ALL, APART, LAST, PER_ARM, PER_SELECTION, wiring_of
from radrl.settings import PARAMS_FILE

# compare reads every arm's datasets under their namespaces, which is what the dot is for
warnings.filterwarnings("ignore", message="One or more dataset names contain '.'", category=UserWarning)

SHARED = {"corpus", "labeler_models", "step_report", "observers", "compute"}
"""Datasets of those stages that all arms have in common."""


def register_pipelines() -> dict[str, Pipeline]:
    """Build the pipelines of the arms that params.yaml lists.

    Returns:
        By name, the pipelines that `kedro run --pipelines` asks for; all of them, and `__default__`, where
        nothing or something unknown is asked for.
    """
    params = read(PARAMS_FILE)
    names = requested_pipelines()
    if names and {*names} <= {*ALL}:
        return {name: _stage(name, params) for name in names}
    stages = {name: _stage(name, params) for name in ALL}
    study = (stage for name, stage in stages.items() if name not in APART)
    return stages | {"__default__": sum(study, Pipeline([]))}


def requested_pipelines() -> list[str]:
    """The pipelines that the running `kedro run` was told by name; none where it is another command."""
    command = click.get_current_context(silent=True)
    options = command.params if command else {}
    return [*filter(None, [options.get("pipeline")]), *(options.get("pipelines") or ())]


def _stage(name: str, params: Params) -> Pipeline:
    """A stage's pipeline, for every arm or selection of one's own that it runs for."""
    return _tagged(name, _WIRED.get(name, lambda _: _create(name))(params))


def _ceilings(params: Params) -> Pipeline:
    return pipeline(_create("ceilings"), inputs={"start": f"{params.ceilings.start}_policy"})


def _own_selections(params: Params) -> Pipeline:
    return sum((_for_selection(name) for name in params.selection.own.parts()), Pipeline([]))


def _arms(name: str, params: Params) -> Pipeline:
    stage = _create(name)
    return sum((_for_arm(stage, arm, entry) for arm, entry in params.arms.items()), Pipeline([]))


def _eval(params: Params) -> Pipeline:
    summary = import_module(wiring_of("eval")).create_summary(list(params.arms))
    return _arms("eval", params) + summary


_WIRED: Final[dict[str, Callable[[Params], Pipeline]]] = {
    "ceilings": _ceilings,
    PER_SELECTION: _own_selections,
    **{name: partial(_arms, name) for name in PER_ARM},
    "eval": _eval,
    LAST: lambda params: _create(LAST, list(params.arms)),
}
"""What `params.yaml` has a say in; the other stages are wired as they stand."""


def _create(name: str, *args: object) -> Pipeline:
    stage: Pipeline = import_module(wiring_of(name)).create_pipeline(*args)
    return stage


def _tagged(name: str, stage: Pipeline) -> Pipeline:
    return pipeline(stage.nodes, tags=f"stage.{name}")


def _for_arm(stage: Pipeline, name: str, arm: Arm) -> Pipeline:
    """A stage under an arm's name: its own datasets, the shared ones, its own start and subset."""
    inputs = {shared: shared for shared in SHARED & stage.inputs()}
    inputs |= (
        {"start": f"{arm.start}_policy", "subset": f"subset_{arm.selection}"}
        if "start" in stage.inputs()
        else {}
    )
    parameters = {p: p for p in stage.inputs() if p.startswith("params:")}
    if "params:arm" in parameters:
        parameters["params:arm"] = f"params:arms.{name}"
    return pipeline(stage, namespace=name, inputs=inputs, parameters=parameters)


def _for_selection(name: str) -> Pipeline:
    """The stage that makes a subset, under the name of a selection of one's own."""
    return pipeline(
        _create(PER_SELECTION, name),
        namespace=name,
        inputs={"corpus", "labels"},
        outputs={"subset": f"subset_{name}"},
        parameters={"params:own_selection": f"params:selection.own.{name}", "params:seed": "params:seed"},
    )
