"""How long an arm trains: by updates, or by passes over its films.

An arm has either `training.steps` or `training.epochs`, its own or the section's. Passes become updates once
the films are counted, here and nowhere else. Looks at watched films may end it before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

_LENGTHS: Final = ("steps", "epochs")


def of_arm(section: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """An arm's settings: the section's, single keys overridden; its `epochs` put the section's `steps` aside.

    Args:
        section: `training`.
        own: the arm's own `training`.

    Returns:
        The keys of `radrl.params.training.Training`.

    Example:
        >>> of_arm({"steps": 60, "epochs": None, "kl": 0.1}, {"epochs": 0.5})
        {'steps': None, 'epochs': 0.5, 'kl': 0.1}
    """
    given = [key for key in _LENGTHS if own.get(key) is not None]
    other = section.keys() & {*_LENGTHS} - {*given} if len(given) == 1 else ()
    return {**section, **dict.fromkeys(other), **own}


def steps(settings: Mapping[str, Any], films: int) -> int:
    """Optimiser steps of a training.

    A batch of rollouts of `prompts_per_step` films serves `iterations` steps, so that a pass over the films
    is films / prompts_per_step batches; a part of one is a batch too.

    Args:
        settings: `steps` or `epochs`, `prompts_per_step`, `iterations`.
        films: how many there are.

    Returns:
        `steps` where it is set, else `ceil(epochs * films / prompts_per_step) * iterations`.

    Example:
        >>> steps({"steps": None, "epochs": 0.5, "prompts_per_step": 8, "iterations": 2}, films=164)
        22
    """
    if settings["steps"] is not None:
        return int(settings["steps"])
    # exact: 0.1 passes over 240 films by 8 are 3 batches, not 3 and a rounding error
    passes = Fraction(str(settings["epochs"]))
    batches: int = math.ceil(passes * films / settings["prompts_per_step"])
    return batches * int(settings["iterations"])


def batches(settings: Mapping[str, Any], films: int) -> int:
    """Batches of rollouts of a training: the last one may serve fewer steps than `iterations`.

    Args:
        settings: as `steps` takes them.
        films: how many there are.
    """
    return math.ceil(steps(settings, films) / settings["iterations"])


def passes(settings: Mapping[str, Any], films: int) -> float:
    """How often a training goes through its films; below 1 it does not see them all.

    Args:
        settings: as `steps` takes them.
        films: how many there are.

    Example:
        >>> passes({"steps": 30, "epochs": None, "prompts_per_step": 8, "iterations": 1}, films=820)
        0.2926829268292683
    """
    return float(batches(settings, films) * settings["prompts_per_step"] / films)


def most_redrawn(settings: Mapping[str, Any], films: int) -> int:
    """How many films a training may draw at most in place of such as teach nothing (`dynamic_sampling`).

    Args:
        settings: as `steps` takes them.
        films: how many there are.

    Example:
        >>> own = {"steps": 30, "epochs": None, "prompts_per_step": 8, "iterations": 1}
        >>> most_redrawn(own | {"dynamic_sampling": {"mode": "redraw", "at_most": 2}}, films=820)
        480
    """
    own = settings.get("dynamic_sampling")
    if not own or own["mode"] != "redraw":
        return 0
    return int(batches(settings, films) * settings["prompts_per_step"] * own["at_most"])


def looks_decide(watch: Mapping[str, Any] | None) -> bool:
    """Whether looks at the watched films decide when training ends or which weights it hands on.

    Args:
        watch: the keys of `radrl.params.training.Watch`; nothing where nobody looks.
    """
    return bool(watch) and (watch["patience"] is not None or keeps_best(watch))


def keeps_best(watch: Mapping[str, Any] | None) -> bool:
    """Whether training hands on the weights of its best look, in place of the last ones.

    Args:
        watch: as `looks_decide` takes it.
    """
    return bool(watch) and watch["keep"] == "best"
