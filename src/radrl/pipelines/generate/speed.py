"""Seconds a film: how long a policy writes, beside OraPO's "3.3 s/image" (section 4.2).

The wall's clock over decoding, prefill and generation of a batch, over its films: with `generate.batch_size`
1 what a reader waits, with more what a machine gets through. It is told to the record and to the terminal
and stands in no file of the stage, since the same inputs give the same reports but never the same seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

PREFIX: Final = "generate/"


class Stopwatch:
    """Measures batches. The first one is left out where there are more: it also warms the device up."""

    def __init__(self) -> None:
        self._batches: list[tuple[int, float]] = []

    @contextmanager
    def batch(self, films: int) -> Iterator[None]:
        """A block in which so many films are reported on."""
        start = time.perf_counter()
        yield
        self._batches.append((films, time.perf_counter() - start))

    def numbers(self) -> dict[str, float]:
        """The films that were measured and the seconds a film, by metric name; nothing without a film."""
        measured = self._batches[1:] or self._batches
        films = sum(count for count, _ in measured)
        if not films:
            return {}
        seconds = sum(taken for _, taken in measured)
        return {f"{PREFIX}films_measured": float(films), f"{PREFIX}seconds_per_image": seconds / films}


def told(numbers: dict[str, float], *, device: str, batch_size: int) -> str:
    """A line for the terminal.

    Args:
        numbers: of `Stopwatch.numbers`, not empty.
        device: what computed, by its name.
        batch_size: samples at once.
    """
    films, seconds = (numbers[f"{PREFIX}{name}"] for name in ("films_measured", "seconds_per_image"))
    return f"{seconds:.3g} s an image over {films:.0f} films, {batch_size} samples at once, on {device}"
