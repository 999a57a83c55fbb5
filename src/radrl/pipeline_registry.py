"""Every pipeline, by the name of its DVC stage.

`kedro run --pipeline=eval` runs a stage for every arm, `--namespaces=grpo` keeps one arm of it, and
`kedro run` runs the whole study in one process.
"""

from __future__ import annotations

import warnings
from importlib import import_module

from kedro.pipeline import Pipeline, pipeline

from radrl.params.schema import read
from radrl.params.training import Arm
from radrl.pipelines.stages import APART, LAST, ONCE, PER_ARM, PER_SELECTION
from radrl.settings import PARAMS_FILE

# compare reads every arm's datasets under their namespaces, which is what the dot is for
warnings.filterwarnings("ignore", message="One or more dataset names contain '.'", category=UserWarning)

SHARED = {"corpus", "labeler_models", "step_report", "observers"}
"""Datasets of those stages that all arms have in common."""


def register_pipelines() -> dict[str, Pipeline]:
    """Build the pipelines of the arms that params.yaml lists."""
    params = read(PARAMS_FILE)
    arms = params.arms
    stages = {name: _tagged(name, _create(name)) for name in ONCE}
    probed = {"start": f"{params.ceilings.start}_policy"}
    stages["ceilings"] = pipeline(stages["ceilings"], inputs=probed)
    own = (_for_selection(name) for name in params.selection.own.parts())
    stages[PER_SELECTION] = _tagged(PER_SELECTION, sum(own, Pipeline([])))
    for name in PER_ARM:
        stage = _create(name)
        stages[name] = _tagged(
            name, sum((_for_arm(stage, arm, entry) for arm, entry in arms.items()), Pipeline([]))
        )
    summary = import_module("radrl.pipelines.eval.pipeline").create_summary(list(arms))
    stages["eval"] += _tagged("eval", summary)
    stages[LAST] = _tagged(LAST, _create(LAST, list(arms)))
    whole = {"__default__": sum(stages.values(), Pipeline([]))}
    return stages | whole | {name: _tagged(name, _create(name)) for name in APART}


def _create(name: str, *args: object) -> Pipeline:
    stage: Pipeline = import_module(f"radrl.pipelines.{name}.pipeline").create_pipeline(*args)
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
