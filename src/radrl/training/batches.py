"""How processes share the batch of a step: params state it, its parts follow from memory and processes.

A step is the mean over its batch however that is cut, so a process takes its share through the model in the
fewest equal parts that memory holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from radrl.training.preflight import SettingsError


class Parts(NamedTuple):
    """A process' share of a step.

    Args:
        size: examples or rollouts that go through the model at once.
        number: of such parts, one after the other.
    """

    size: int
    number: int


def split(total: int, at_once: int, processes: int = 1) -> Parts:
    """The fewest equal parts of a step: size * number * processes is its batch, size at most `at_once`.

    Args:
        total: of the step, over all processes.
        at_once: most that a process takes through the model together.
        processes: that share the step.

    Raises:
        ValueError: when processes cannot have equal shares.

    Example:
        >>> split(64, at_once=4, processes=8)
        Parts(size=4, number=2)
    """
    share, rest = divmod(total, processes)
    if rest:
        raise ValueError(f"{total} do not divide among {processes} processes")
    size = next(size for size in range(min(at_once, share), 0, -1) if share % size == 0)
    return Parts(size, share // size)


def of_rollouts(settings: Mapping[str, Any], processes: int = 1) -> Parts:
    """Parts of the rollouts of a step; a film's may lie in several parts and processes.

    Args:
        settings: the keys of `radrl.params.training.Training`.
        processes: that share the step.

    Raises:
        SettingsError: when processes cannot have equal shares, naming the nearest number of prompts that can.
    """
    prompts, rollouts = settings["prompts_per_step"], settings["rollouts"]
    try:
        return split(prompts * rollouts, settings["rollouts_at_once"], processes)
    except ValueError:
        near = _near(prompts, processes // math.gcd(processes, rollouts))
        raise SettingsError(
            f"the {prompts * rollouts} rollouts of a step (training.prompts_per_step {prompts} * rollouts"
            f" {rollouts}) do not divide among {processes} processes; set training.prompts_per_step to {near}"
            f", or start {_counts(prompts * rollouts, processes)} processes"
        ) from None


def of_examples(settings: Mapping[str, Any], processes: int = 1, *, section: str = "") -> Parts:
    """Parts of the examples of a step.

    Args:
        settings: the keys of `radrl.params.policy.Supervised`.
        processes: that share the step.
        section: where they stand, for the message.

    Raises:
        SettingsError: when processes cannot have equal shares, naming the nearest batches that can.
    """
    batch, key = settings["batch_size"], f"{section}.batch_size".lstrip(".")
    try:
        return split(batch, settings["examples_at_once"], processes)
    except ValueError:
        raise SettingsError(
            f"{key} {batch} does not divide among {processes} processes; "
            f"set it to {_near(batch, processes)}, or start {_counts(batch, processes)} processes"
        ) from None


def _near(number: int, step: int) -> str:
    """The multiples of a step around a number that is none."""
    below = number // step * step
    return f"{below} or {below + step}" if below else str(step)


def _counts(total: int, processes: int) -> str:
    """How many processes could share a total, the nearest below and above."""
    fit = [count for count in range(1, total + 1) if total % count == 0]
    below, above = ([each for each in fit if (each < processes) is less] for less in (True, False))
    return " or ".join(str(each) for each in (below[-1:] + above[:1]))
