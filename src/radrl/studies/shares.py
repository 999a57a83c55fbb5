"""Whether a study that varies how much data arms see lets them see it.

An arm that trains by `steps` sees steps x prompts_per_step films. Where that is less than its subset has, how
large the subset is makes no difference: arms on a half and on all of the films then see equally many.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from radrl.params import films
from radrl.params.base import ParamsError
from radrl.params.schema import Params
from radrl.params.training import Arm
from radrl.training import course

Place = tuple[str, str]
"""A run and an arm."""


def require_passes(runs: Mapping[str, Params], own_arms: bool, *, where: str) -> None:
    """Refuse a study that varies the amount of data without a pass over the largest subset.

    Compared are an arm's subsets in two runs, and of a study with arms of its own two arms of a run that
    differ in nothing but their selection. Of films that are not drawn nobody knows the number; the stage
    train then says how often they were passed.

    Args:
        runs: the parameters of each run.
        own_arms: whether the arms are the study's own; to run a recipe's as they are varies nothing.
        where: begins the message.

    Raises:
        ParamsError: naming run, arm and both numbers.
    """
    for pair in itertools.chain(_between_runs(runs), _between_arms(runs) if own_arms else ()):
        counts = [_films(runs, place) for place in pair]
        if None in counts or counts[0] == counts[1]:
            continue
        (run, arm), count = max(zip(pair, counts, strict=True), key=lambda each: each[1] or 0)
        _require_pass(runs[run], arm, count or 0, where=f"{where}, run {run}" if run else where)


def _between_runs(runs: Mapping[str, Params]) -> Iterator[Sequence[Place]]:
    for one, other in itertools.combinations(runs, 2):
        yield from (((one, arm), (other, arm)) for arm in runs[one].arms if arm in runs[other].arms)


def _between_arms(runs: Mapping[str, Params]) -> Iterator[Sequence[Place]]:
    for run, params in runs.items():
        for (one, first), (other, second) in itertools.combinations(params.arms.items(), 2):
            if _but_selection(first) == _but_selection(second):
                yield ((run, one), (run, other))


def _but_selection(arm: Arm) -> dict[str, Any]:
    return arm.model_dump(exclude={"selection"})


def _films(runs: Mapping[str, Params], place: Place) -> int | None:
    """About how many films an arm trains on; nothing where it does not train, or nobody knows."""
    run, arm = place
    trains = runs[run].arms[arm].reward is not None
    return films.expected(runs[run], runs[run].arms[arm].selection) if trains else None


def _require_pass(params: Params, arm: str, count: int, *, where: str) -> None:
    settings = course.of_arm(params.training.model_dump(), params.arms[arm].training)
    if settings["steps"] is None or course.passes(settings, count) >= 1:
        return
    step = settings["prompts_per_step"]
    enough = course.steps({**settings, "steps": None, "epochs": 1}, count)
    raise ParamsError(
        f"{where}: the study varies how many films arms train on, but {settings['steps']} steps of {step} "
        f"films do not pass the about {count:,} of arm {arm} (selection {params.arms[arm].selection}) once, "
        f"so that their number varies nothing. Set training.steps to {enough} or more, or to null and "
        "training.epochs to 1"
    )
