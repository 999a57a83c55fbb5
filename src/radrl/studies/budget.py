"""What each arm may spend, so that an arm that wins by spending more is seen to, and what films it sees.

A study that varies how much data arms see has to let them see it. An arm that trains by `steps` sees steps x
prompts_per_step films, at most those of its subset. Where that is less than each of two subsets has, it makes
no difference how large they are: arms on a half and on all of the films then see equally many.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from radrl.params.messages import ParamsError
from radrl.params.schema import Params, expected_films
from radrl.params.training import Arm
from radrl.training import length

Place = tuple[str, str]
"""A run and an arm."""


@dataclass(frozen=True, slots=True)
class FilmExposure:
    """What an arm sees of its subset: each film once before any twice.

    Args:
        subset: about how many films its subset has.
        passes: how often it goes through them; below 1 it does not see them all.
        films: how many different ones it sees.
        at_least: whether further films are drawn in place of groups whose rewards are equal.
    """

    subset: int
    passes: float
    films: int
    at_least: bool = False

    def __str__(self) -> str:
        least = "at least " if self.at_least else ""
        if self.passes < 1:
            return f"{least}{self.films:,} of about {self.subset:,}"
        times = f"{round(self.passes, 2):,g}"
        return f"about {self.films:,}, {least}{'once' if times == '1' else f'{times} times'}"


def films_seen(params: Params, arm: str) -> FilmExposure | None:
    """What an arm sees: batches x prompts_per_step films, at most those of its subset.

    Args:
        params: the run's.
        arm: one of theirs.

    Returns:
        The counts; nothing for an arm that hands its start on, or whose films parameters do not count.
    """
    own = params.arms[arm]
    subset = expected_films(params, own.selection)
    if own.reward is None or subset is None:
        return None
    settings = length.of_arm(params.training.model_dump(), own.training)
    drawn = length.batches(settings, subset) * settings["prompts_per_step"]
    redraws = length.most_redrawn(settings, subset) > 0
    return FilmExposure(subset, length.passes(settings, subset), min(drawn, subset), redraws)


def require_passes(runs: Mapping[str, Params], own_arms: bool, *, where: str) -> None:
    """Refuse a study that varies the amount of data where two arms would see the same amount of it.

    Compared are an arm's subsets in two runs, and of a study with arms of its own two arms of a run with
    the same start and reward. Of films that are not drawn nobody knows the number, so subsets that are chosen
    in two ways are passed by `epochs` there.

    Args:
        runs: the parameters of each run.
        own_arms: whether the arms are the study's own; to run a recipe's as they are varies nothing.
        where: begins the message.

    Raises:
        ParamsError: naming run, arm and both numbers.
    """
    for pair in itertools.chain(_between_runs(runs), _between_arms(runs) if own_arms else ()):
        if not all(runs[run].arms[arm].reward for run, arm in pair):
            continue
        found = [(place, films_seen(runs[place[0]], place[1])) for place in pair]
        counted = [(place, one) for place, one in found if one]
        uncounted = [place for place, one in found if not one]
        if not uncounted:
            _require_difference(runs, *sorted(counted, key=lambda one: one[1].subset), where=where)
        elif _subset(runs, pair[0]) != _subset(runs, pair[1]):
            _require_epochs(runs, uncounted[-1], where=where)


def _between_runs(runs: Mapping[str, Params]) -> Iterator[Sequence[Place]]:
    for one, other in itertools.combinations(runs, 2):
        yield from (((one, arm), (other, arm)) for arm in runs[one].arms if arm in runs[other].arms)


def _between_arms(runs: Mapping[str, Params]) -> Iterator[Sequence[Place]]:
    for run, params in runs.items():
        for (one, first), (other, second) in itertools.combinations(params.arms.items(), 2):
            if _aim(first) == _aim(second):
                yield ((run, one), (run, other))


def _aim(arm: Arm) -> dict[str, Any]:
    return arm.model_dump(include={"start", "reward", "output"})


def _subset(runs: Mapping[str, Params], place: Place) -> Any:
    """What says which films an arm trains on: the selection and its settings."""
    run, arm = place
    selection = runs[run].arms[arm].selection
    return selection, runs[run].selection.model_dump().get(selection)


def _require_difference(
    runs: Mapping[str, Params],
    less: tuple[Place, FilmExposure],
    more: tuple[Place, FilmExposure],
    *,
    where: str,
) -> None:
    (_, few), (place, many) = less, more
    if few.subset == many.subset or few.films != many.films:
        return
    settings = _settings(runs, place)
    enough = length.steps({**settings, "steps": None, "epochs": 1}, many.subset)
    raise ParamsError(
        f"{where}: the study varies how many films arms train on, but {_named(less)} and {_named(more)} see "
        f"equally many different ones, so that their number varies nothing. Set training.steps to {enough} "
        "or more, or to null and training.epochs to 1"
    )


def _require_epochs(runs: Mapping[str, Params], place: Place, *, where: str) -> None:
    settings, (run, arm) = _settings(runs, place), place
    if settings["steps"] is None:
        return
    raise ParamsError(
        f"{where}{f', run {run}' if run else ''}: the study varies how many films arms train on, and nobody "
        f"knows yet whether {settings['steps']} steps pass those of arm {arm} (selection "
        f"{runs[run].arms[arm].selection}) once. Set training.steps to null and training.epochs to 1"
    )


def _settings(runs: Mapping[str, Params], place: Place) -> dict[str, Any]:
    run, arm = place
    return length.of_arm(runs[run].training.model_dump(), runs[run].arms[arm].training)


def _named(found: tuple[Place, FilmExposure]) -> str:
    (run, arm), one = found
    return f"arm {arm}{f' of run {run}' if run else ''} ({one})"


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
    seen: FilmExposure | None = None
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
    sees = films_seen(params, arm)
    epochs = settings["epochs"]
    if epochs is not None and sees is None:
        return Budget(own.start, own.selection, None, None, drawn, epochs)
    count = sees.subset if sees else 0  # of no matter to an arm that trains by steps
    rollouts = length.batches(settings, count) * settings["prompts_per_step"] * settings["rollouts"]
    redrawn = length.most_redrawn(settings, count) * settings["rollouts"]
    updates = length.steps(settings, count)
    return Budget(own.start, own.selection, updates, rollouts, drawn, epochs, sees, redrawn)
