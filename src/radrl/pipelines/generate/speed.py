"""Seconds a film: how long a policy writes, beside OraPO's "3.3 s/image" (section 4.2).

The wall's clock over decoding, prefill and generation of a batch, over its films: with `generate.batch_size`
1 what a reader waits, with more what a worker gets through. It is told to the record and to the terminal
and stands in no file of the stage, since the same inputs give the same reports but never the same seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

PREFIX: Final = "generate/"


class Measured(NamedTuple):
    """How long a batch took.

    Args:
        films: that were reported on.
        seconds: of the clock.
        warms_up: whether it is its worker's first, which also warms the device up.
    """

    films: int
    seconds: float
    warms_up: bool


def numbers(batches: Sequence[Measured]) -> dict[str, float]:
    """The films that were measured and a worker's seconds a film.

    Args:
        batches: of all workers; those that warm up are left out where there are others.

    Returns:
        By metric name; nothing without a film.
    """
    measured = [batch for batch in batches if not batch.warms_up] or batches
    films = sum(batch.films for batch in measured)
    if not films:
        return {}
    seconds = sum(batch.seconds for batch in measured)
    return {f"{PREFIX}films_measured": float(films), f"{PREFIX}seconds_per_image": seconds / films}


def told(numbers: dict[str, float], *, device: str, batch_size: int) -> str:
    """A line for the terminal.

    Args:
        numbers: of `numbers`, not empty.
        device: what computed, by its name.
        batch_size: samples at once.
    """
    films, seconds = (numbers[f"{PREFIX}{name}"] for name in ("films_measured", "seconds_per_image"))
    return f"{seconds:.3g} s an image over {films:.0f} films, {batch_size} samples at once, on {device}"
