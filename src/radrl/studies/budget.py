"""What each arm may spend, so that an arm that wins by spending more is seen to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from radrl.params.schema import Params

Place = tuple[str, str]
"""A run and an arm."""


@dataclass(frozen=True, slots=True)
class Budget:
    """An arm's spending.

    Args:
        start: base or sft.
        selection: the training studies it sees.
        updates: optimiser steps; 0 for an arm that hands its start on.
        rollouts: reports sampled while it trains.
        drawn_before: reports sampled for each training film before it trains, to choose its films by.
    """

    start: str
    selection: str
    updates: int
    rollouts: int
    drawn_before: int


def budgets(runs: Mapping[str, Params]) -> dict[Place, Budget]:
    """Every arm's budget, by run and arm.

    Args:
        runs: the parameters of each run.

    Returns:
        The budgets in the order of runs and arms.
    """
    return {(run, arm): _budget(params, arm) for run, params in runs.items() for arm in params.arms}


def unequal(found: Mapping[Place, Budget]) -> str | None:
    """A sentence about budgets that differ between the arms that train, or nothing when they do not."""
    spent = {(one.updates, one.rollouts) for one in found.values() if one.updates}
    if len(spent) < 2:
        return None
    updates, rollouts = ([pair[i] for pair in spent] for i in (0, 1))
    return (
        f"The arms that train do not spend the same: {min(updates):,} to {max(updates):,} updates, "
        f"{min(rollouts):,} to {max(rollouts):,} rollouts. A difference between two of them may be one of "
        "budget."
    )


def _budget(params: Params, arm: str) -> Budget:
    own = params.arms[arm]
    drawn = params.rollouts.samples if own.selection == "ddsampling" else 0
    if own.reward is None:
        return Budget(own.start, "-", 0, 0, 0)
    settings = params.training.model_dump() | own.training
    # a batch of rollouts serves `iterations` steps
    batches = math.ceil(settings["steps"] / settings["iterations"])
    rollouts = batches * settings["prompts_per_step"] * settings["rollouts"]
    return Budget(own.start, own.selection, settings["steps"], rollouts, drawn)
