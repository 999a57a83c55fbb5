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
        counts = {place: _films(runs, place) for place in pair}
        uncounted = [place for place, count in counts.items() if count is None]
        if uncounted and _subset(runs, pair[0]) == _subset(runs, pair[1]):
            continue
        run, arm = uncounted[-1] if uncounted else max(pair, key=lambda place: counts[place] or 0)
        if uncounted or len(set(counts.values())) == 2:
            count = counts[run, arm]
            _require_pass(runs[run], arm, count, where=f"{where}, run {run}" if run else where)


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


def _films(runs: Mapping[str, Params], place: Place) -> int | None:
    """About how many films an arm trains on; nothing where nobody knows."""
    run, arm = place
    return films.expected(runs[run], runs[run].arms[arm].selection)


def _subset(runs: Mapping[str, Params], place: Place) -> Any:
    """What says which films an arm trains on: the selection and its settings."""
    run, arm = place
    selection = runs[run].arms[arm].selection
    return selection, runs[run].selection.model_dump().get(selection)


def _require_pass(params: Params, arm: str, count: int | None, *, where: str) -> None:
    settings = course.of_arm(params.training.model_dump(), params.arms[arm].training)
    if settings["steps"] is None:
        return
    if count is None:
        raise ParamsError(
            f"{where}: the study varies how many films arms train on, and nobody knows yet whether "
            f"{settings['steps']} steps pass those of arm {arm} (selection {params.arms[arm].selection}) "
            "once. Set training.steps to null and training.epochs to 1"
        )
    if course.passes(settings, count) >= 1:
        return
    step = settings["prompts_per_step"]
    enough = course.steps({**settings, "steps": None, "epochs": 1}, count)
    raise ParamsError(
        f"{where}: the study varies how many films arms train on, but {settings['steps']} steps of {step} "
        f"films do not pass the about {count:,} of arm {arm} (selection {params.arms[arm].selection}) once, "
        f"so that their number varies nothing. Set training.steps to {enough} or more, or to null and "
        "training.epochs to 1"
    )
