"""Which stages there are, once or for each arm, where each is wired, and what hooks bring to them."""

from importlib.util import find_spec
from typing import Final

ONCE: Final = (
    "ingest",
    "labeler",
    "label",
    "policy",
    "sft",
    "rollouts",
    "ddsampling",
    "selection",
    "ceilings",
    "analyses",
)
"""Stages that run once, before the arms part."""

PER_SELECTION: Final = "own_selection"
"""The stage that runs for each selection of one's own, under its name as namespace."""

PER_ARM: Final = ("train", "generate", "eval")
"""Stages that run for each arm, under its name as namespace."""

LAST: Final = "compare"
"""The stage that reads all arms."""

APART: Final = ("base_card",)
"""Pipelines that are no stage of the study: `make base` runs this one."""

ALL: Final = (*ONCE, PER_SELECTION, *PER_ARM, LAST, *APART)
"""Every pipeline that can be asked for by name, in the order of the study."""

STEP_REPORT: Final = "step_report"
"""Name of the catalog entry through which a training node reports its steps."""

OBSERVERS: Final = "observers"
"""Name of the entry that gives the callbacks which look on while an arm trains."""

COMPUTE: Final = "compute"
"""Name of the entry with the processes that train: no parameter, for it changes no result."""

SELECTED: Final = "selected"
"""Name of the entry: a function that reads datasets by name, and leaves out those that are not there."""


def wiring_of(stage: str) -> str:
    """The module with the `create_pipeline` of a stage: its own, or `pipeline` of its package.

    Args:
        stage: its name, one of `ALL`.
    """
    module = f"radrl.pipelines.{stage}"
    spec = find_spec(module)
    return module if spec is None or spec.submodule_search_locations is None else f"{module}.pipeline"
