"""Reports batch by batch, by as many workers as params.yaml says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from radrl.mapping.base import Work
from radrl.mapping.engines import mapped
from radrl.pipelines.generate.speed import Measured
from radrl.policy.encoding import Films
from radrl.policy.writers.base import Writer


@dataclass(frozen=True, slots=True)
class Writing:
    """What is written: each worker has it as a whole, and its own writer.

    Args:
        films: of N samples as PNG bytes.
        prompt: the instruction.
        settings: batch_size, temperature, top_p, max_new_tokens.
        seed: of the draws when temperature is above 0; a sample's follow from it and its place among the N.
    """

    films: Sequence[Films]
    prompt: str
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
        chosen = self.films[samples.start : samples.stop]
        drawn = writer.write(chosen, self.prompt, **how, seed=self.seed, first=samples.start)
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
