"""Many reports on many films, shard by shard, resumable after a kill without loss or repetition."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from radrl.mapping.engines import Work, mapped
from radrl.policy.encoding import Films
from radrl.policy.writer import Prompt, Writer, of_part
from radrl.storage import table_files
from radrl.storage.whole_files import whole_file


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is drawn: each worker has it as a whole, and its own writer.

    Args:
        sample_ids: N ids.
        films: their films as PNG bytes.
        prompt: the instruction, or N of them.
        settings: samples, films_per_shard, batch_size, temperature, top_p, max_new_tokens.
        seed: of all draws; a sample's follow from it and the sample's place among the N, whatever the shards.
        workspace: where finished shards outlive a kill.
    """

    sample_ids: Sequence[str]
    films: Sequence[Films]
    prompt: Prompt
    settings: Mapping[str, Any]
    seed: int
    workspace: Path

    @property
    def shards(self) -> range:
        """The shards' numbers."""
        return range(-(-len(self.films) // self.settings["films_per_shard"]))

    def file(self, shard: int) -> Path:
        """Where a finished shard lies."""
        return self.workspace / f"shard-{shard:05d}.parquet"

    def rows(self, writer: Writer, shard: int) -> list[dict[str, Any]]:
        """Draw the reports of a shard's films.

        Args:
            writer: who writes.
            shard: its number.

        Returns:
            sample_id, rollout (0 to K - 1) and report.
        """
        size, batch = self.settings["films_per_shard"], self.settings["batch_size"]
        start = shard * size
        stop = min(start + size, len(self.films))
        batches = (range(first, min(first + batch, stop)) for first in range(start, stop, batch))
        return [row for one in batches for row in self._rows_of_batch(writer, one)]

    def _rows_of_batch(self, writer: Writer, samples: range) -> list[dict[str, Any]]:
        part = slice(samples.start, samples.stop)
        how = {name: self.settings[name] for name in ("max_new_tokens", "samples", "temperature", "top_p")}
        prompt = of_part(self.prompt, part)
        reports = writer.write(self.films[part], prompt, **how, seed=self.seed, first=samples.start)
        return [
            {"sample_id": sample_id, "rollout": k, "report": report.text}
            for sample_id, drawn in zip(self.sample_ids[part], reports, strict=True)
            for k, report in enumerate(drawn)
        ]


def sample_shards(
    sampling: Sampling,
    open_writer: Callable[[], Writer],
    compute: Mapping[str, Any] | None = None,
    *,
    device: str = "cpu",
) -> Iterator[pa.Table]:
    """Draw reports of every sample of the corpus; a shard is kept in the workspace as soon as it is done.

    Args:
        sampling: what is drawn.
        open_writer: gives a worker its writer, which is closed at its end.
        compute: the section `compute` of params.yaml; nothing for this process alone.
        device: where writers compute, as params.yaml's `device`.

    Yields:
        Tables of sample_id, rollout (0 to K - 1) and report, in order. The workspace is removed once the last
        was handed on.
    """
    left = [shard for shard in sampling.shards if not sampling.file(shard).is_file()]
    done = len(sampling.shards) - len(left)
    work = Work("rollouts", partial(_opened, sampling, open_writer), _draw)
    with closing(mapped(work, left, compute, device=device, done=done)) as drawn:
        for shard in sampling.shards:
            if shard in left:
                next(drawn)  # in the order of those left
            mend = f"remove {sampling.workspace}, and the stage begins anew"
            yield table_files.read_parquet(sampling.file(shard), mend=mend)
    shutil.rmtree(sampling.workspace)


@contextmanager
def _opened(sampling: Sampling, open_writer: Callable[[], Writer]) -> Iterator[tuple[Sampling, Writer]]:
    with closing(open_writer()) as writer:
        yield sampling, writer


def _draw(state: tuple[Sampling, Writer], shard: int) -> None:
    sampling, writer = state
    table = pa.Table.from_pylist(sampling.rows(writer, shard))
    with whole_file(sampling.file(shard)) as stream:
        pq.write_table(table, stream)
