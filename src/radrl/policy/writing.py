"""Reports batch by batch, by as many workers as params.yaml says, and the seconds that a film took.

The seconds stand beside OraPO's "3.3 s/image" (section 4.2): the wall's clock over decoding, prefill and
generation of a batch, over its films: with `generate.batch_size` 1 what a reader waits, with more what a
worker gets through. They are told to the record and to the terminal and stand in no file of the stage, since
the same inputs give the same reports but never the same seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from radrl.mapping.engines import Work, mapped
from radrl.policy.encoding import Films
from radrl.policy.writer import Prompt, Writer, of_part

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


def speed_line(numbers: dict[str, float], *, device: str, batch_size: int) -> str:
    """A line for the terminal.

    Args:
        numbers: of `numbers`, not empty.
        device: what computed, by its name.
        batch_size: samples at once.
    """
    films, seconds = (numbers[f"{PREFIX}{name}"] for name in ("films_measured", "seconds_per_image"))
    return f"{seconds:.3g} s an image over {films:.0f} films, {batch_size} samples at once, on {device}"


@dataclass(frozen=True, slots=True)
class Writing:
    """What is written: each worker has it as a whole, and its own writer.

    Args:
        films: of N samples as PNG bytes.
        prompt: the instruction, or N of them.
        settings: batch_size, temperature, top_p, max_new_tokens.
        seed: of the draws when temperature is above 0; a sample's follow from it and its place among the N.
    """

    films: Sequence[Films]
    prompt: Prompt
    settings: Mapping[str, Any]
    seed: int

    @property
    def batches(self) -> list[range]:
        """The samples of each batch."""
        every = range(len(self.films))
        size = self.settings["batch_size"]
        return [every[start : start + size] for start in range(0, len(every), size)]

    def texts(self, writer: Writer, samples: range) -> list[str]:
        """Write on a batch.

        Args:
            writer: who writes.
            samples: the batch.

        Returns:
            A text a sample.
        """
        how = {name: self.settings[name] for name in ("max_new_tokens", "temperature", "top_p")}
        part = slice(samples.start, samples.stop)
        prompt = of_part(self.prompt, part)
        drawn = writer.write(self.films[part], prompt, **how, seed=self.seed, first=samples.start)
        return [output.text for (output,) in drawn]


class Batch(NamedTuple):
    """A batch that is written.

    Args:
        texts: one a sample.
        measured: how long it took.
        device: what computed, for a person.
    """

    texts: list[str]
    measured: Measured
    device: str


def written(
    writing: Writing,
    open_writer: Callable[[], Writer],
    compute: Mapping[str, Any] | None = None,
    *,
    device: str = "cpu",
) -> Iterator[Batch]:
    """Write on the films of every sample.

    Args:
        writing: what is written.
        open_writer: gives a worker its writer, which is closed at its end.
        compute: the section `compute` of params.yaml; nothing for this process alone.
        device: where writers compute, as params.yaml's `device`.

    Returns:
        The batches in order.
    """
    work = Work("generate", partial(_opened, writing, open_writer), _write)
    return mapped(work, writing.batches, compute, device=device, unit="batches")


@dataclass(slots=True)
class _Worker:
    writing: Writing
    writer: Writer
    fresh: bool = True


@contextmanager
def _opened(writing: Writing, open_writer: Callable[[], Writer]) -> Iterator[_Worker]:
    with closing(open_writer()) as writer:
        yield _Worker(writing, writer)


def _write(worker: _Worker, samples: range) -> Batch:
    films = sum(map(len, worker.writing.films[samples.start : samples.stop]))
    start = time.perf_counter()
    texts = worker.writing.texts(worker.writer, samples)
    measured = Measured(films, time.perf_counter() - start, warms_up=worker.fresh)
    worker.fresh = False
    return Batch(texts, measured, worker.writer.device)
