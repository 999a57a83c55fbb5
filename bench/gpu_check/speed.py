"""A training step in stock TRL and in radrl, at the settings of DEER's recipe, part by part.

Both take the same steps: the same films, scripts, rewards, float32 masters, frozen start and fused AdamW
(bench/grpo_steps tells how). Where a way does not fit into the card it goes on with fewer rollouts at once,
then both without the frozen start; what was taken stands beside the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import grpo_step
import torch
from grpo_steps import measure as cells
from grpo_steps.measure import Cell, Job

from gpu_check import results
from gpu_check.parts import Keep
from gpu_check.setup import Setup

STEPS: Final = 3
"""The first is not counted."""
AT_ONCE: Final = (16, 8, 4)
"""Rollouts that go through the model together, tried in turn."""
ROOMY: Final = 100
"""GiB of a card from which on the most are tried; below it stock's logits would not fit."""
RUNGS: Final[tuple[dict[str, Any], ...]] = ({}, {"kl": 0.0})
"""Settings changed, tried in turn: as the recipe is, then without the frozen start."""
WAYS: Final = ("stock", "shared")


def measure(setup: Setup, keep: Keep, group: int) -> None:
    """Seconds by part and memory of both ways, with the operations that each counts."""
    found: dict[str, Any] = {}
    for rung in RUNGS:
        found = {"group": group, "changed": rung, "ways": {}}
        for way in WAYS:
            found["ways"][way] = _first_that_fits(setup, group, rung, way)
            keep(found)
        if not any(own.get("full") for own in found["ways"].values()):
            break
    if failed := [f"{way}: {own['failed']}" for way, own in found["ways"].items() if "failed" in own]:
        raise RuntimeError("; ".join(failed))


def job(setup: Setup, group: int, changed: Mapping[str, Any]) -> Job:
    """A cell at the recipe's settings, some of them changed."""
    params = {**setup.params, "training": {**setup.params["training"], "watch": None, **changed}}
    bench = grpo_step.Bench(params, films=setup.rows // group, device=str(setup.device))
    cell = Cell(setup.size, group, setup.tokens)
    made = grpo_step.job(bench, cell, setup.start(), setup.texts, 2 if setup.twin else STEPS)
    return replace(made, optimizer="adamw_torch_fused")


def _first_that_fits(setup: Setup, group: int, rung: Mapping[str, Any], way: str) -> dict[str, Any]:
    """A way with as many rollouts at once as fit; why not, where none do."""
    from gpu_check.memory import planned

    found: dict[str, Any] = {}
    for at_once in at_once_of(setup):
        changed = {**rung, "rollouts_at_once": at_once}
        found = {"at_once": at_once, **tried_apart(setup, way, group, changed)}
        if "seconds" in found:
            own = job(setup, group, changed)
            found |= {
                "update_operations": 3 * grpo_step.counted(own)[way].forward // (len(own.scripts) - 1),
                "tokens": tokens(own),
            }
            found |= {"planned": planned(own)} if way == "shared" else {}
            break
        if not found.get("full"):
            break
    return found


def at_once_of(setup: Setup) -> tuple[int, ...]:
    """What is tried on this card."""
    if setup.twin:
        return (8,)
    known = results.read(setup.work / results.of_part("machine"))
    return AT_ONCE if known.get("memory_gib", 0) > ROOMY else AT_ONCE[1:]


def tokens(own: Job) -> float:
    """Of the rollouts of a counted step, in the mean."""
    steps = own.scripts[1:]
    return sum(len(script) for step in steps for script in step) / len(steps)


def tried_apart(setup: Setup, way: str, group: int, changed: Mapping[str, Any]) -> dict[str, Any]:
    """What `tried` finds, in a process of its own."""
    try:
        found: dict[str, Any] = cells.apart(str(setup.device), tried, setup, way, group, changed)
    except RuntimeError as error:
        return {"failed": str(error)}
    return found


def tried(setup: Setup, way: str, group: int, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Steps of a way, or why there are none; `full` where the card's memory was.

    Args:
        setup: what parts measure on.
        way: a key of `grpo_steps.ways.WAYS`.
        group: rollouts of a film.
        changed: settings of the recipe.
    """
    try:
        found = cells.train(way, job(setup, group, changed))
    except torch.OutOfMemoryError as error:
        return {"failed": str(error).splitlines()[0], "full": True}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
    found.pop("curve")
    return found
