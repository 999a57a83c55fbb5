"""What each arm may spend, so that an arm that wins by spending more is seen to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from radrl.params.schema import Params
from radrl.studies.film_exposure import Seen, seen
from radrl.training import length

Place = tuple[str, str]
"""A run and an arm."""


@dataclass(frozen=True, slots=True)
class Budget:
    """An arm's spending.

    Args:
        start: base or sft.
        selection: the training studies it sees.
        updates: optimiser steps; 0 for an arm that hands its start on, nothing where it trains in epochs of
            films that are not counted yet.
        rollouts: reports sampled while it trains; nothing where updates are.
        epochs: passes over its films, where it trains by them; its updates are then those of about as many
            films as parameters say.
        drawn_before: reports sampled for each training film before it trains, to choose its films by.
        seen: how many different films it sees, and how often; nothing where they are not counted yet.
        redrawn: reports that it may sample beyond these at most, in place of groups of equal rewards.
    """

    start: str
    selection: str
    updates: int | None
    rollouts: int | None
    drawn_before: int
    epochs: float | None = None
    seen: Seen | None = None
    redrawn: int = 0

    @property
    def trains(self) -> bool:
        """Whether it does not hand its start on."""
        return self.updates != 0

    @property
    def length(self) -> str:
        """Its updates in words."""
        updates = "" if self.updates is None else f"{self.updates:,}"
        if self.epochs is None:
            return updates
        passes = f"{self.epochs:g} epoch{'' if self.epochs == 1 else 's'}"
        return f"about {updates} ({passes})" if updates else passes

    @property
    def sampled(self) -> str:
        """Its rollouts in words."""
        if self.rollouts is None:
            return "as many as its films need"
        more = f", up to {self.redrawn:,} more redrawn" if self.redrawn else ""
        return f"{'' if self.epochs is None else 'about '}{self.rollouts:,}{more}"

    @property
    def films(self) -> str:
        """The films it sees, in words."""
        return str(self.seen or "-")


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
    trained = [one for one in found.values() if one.trains]
    if any(one.updates is None for one in trained):
        alike = len({(one.selection, one.epochs) for one in trained}) == 1
        said = "Arms train in epochs of films that are not counted yet: those on more films get more updates."
        return None if alike else said
    spent = {(one.updates or 0, one.rollouts or 0, one.redrawn) for one in trained}
    if len(spent) < 2:
        return None
    updates = [one for one, _, _ in spent]
    rollouts = [own for _, least, more in spent for own in (least, least + more)]
    return (
        f"The arms that train do not spend the same: {min(updates):,} to {max(updates):,} updates, "
        f"{min(rollouts):,} to {max(rollouts):,} rollouts. A difference between two of them may be one of "
        "budget."
    )


def _budget(params: Params, arm: str) -> Budget:
    own = params.arms[arm]
    drawn = params.rollouts.samples if own.selection in ("ddsampling", "most_diverse") else 0
    if own.reward is None:
        return Budget(own.start, "-", 0, 0, 0)
    settings = length.of_arm(params.training.model_dump(), own.training)
    sees = seen(params, arm)
    epochs = settings["epochs"]
    if epochs is not None and sees is None:
        return Budget(own.start, own.selection, None, None, drawn, epochs)
    count = sees.subset if sees else 0  # of no matter to an arm that trains by steps
    rollouts = length.batches(settings, count) * settings["prompts_per_step"] * settings["rollouts"]
    redrawn = length.most_redrawn(settings, count) * settings["rollouts"]
    updates = length.steps(settings, count)
    return Budget(own.start, own.selection, updates, rollouts, drawn, epochs, sees, redrawn)
