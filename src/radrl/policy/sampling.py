"""Many reports on many films, shard by shard, resumable after a kill without loss or repetition."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from radrl.policy.encoding import Films
from radrl.policy.writers.base import Writer


def sample_shards(
    writer: Writer,
    *,
    sample_ids: Sequence[str],
    films: Sequence[Films],
    prompt: str,
    settings: Mapping[str, Any],
    seed: int,
    workspace: Path,
) -> Iterator[pa.Table]:
    """Draw reports of every sample of the corpus; a shard is kept in the workspace as soon as it is done.

    Args:
        writer: who writes.
        sample_ids: N ids.
        films: their films as PNG bytes.
        prompt: the instruction.
        settings: samples, films_per_shard, batch_size, temperature, top_p, max_new_tokens.
        seed: of all draws; a sample's follow from it and the sample's place among the N, whatever the shards.
        workspace: where finished shards outlive a kill; removed once the last shard was handed on.

    Yields:
        Tables of sample_id, rollout (0 to K - 1) and report.
    """
    size = settings["films_per_shard"]
    starts = range(0, len(films), size)
    done = sum(_file(workspace, number).is_file() for number in range(len(starts)))
    progress = tqdm(total=len(films), initial=min(done * size, len(films)), desc="rollouts", unit=" films")
    for number, start in enumerate(starts):
        part = slice(start, start + size)
        if not _file(workspace, number).is_file():
            rows = _sample(writer, sample_ids[part], films[part], prompt, settings, seed, start, progress)
            _write(pa.Table.from_pylist(rows), _file(workspace, number))
        yield pq.read_table(_file(workspace, number))
    progress.close()
    shutil.rmtree(workspace)


def _sample(
    writer: Writer,
    sample_ids: Sequence[str],
    films: Sequence[Films],
    prompt: str,
    settings: Mapping[str, Any],
    seed: int,
    first: int,
    progress: tqdm[Any],
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    batch = settings["batch_size"]
    for start in range(0, len(films), batch):
        part = slice(start, start + batch)
        reports = writer.write(
            films[part],
            prompt,
            max_new_tokens=settings["max_new_tokens"],
            samples=settings["samples"],
            temperature=settings["temperature"],
            top_p=settings["top_p"],
            seed=seed,
            first=first + start,
        )
        rows += [
            {"sample_id": sample_id, "rollout": k, "report": report.text}
            for sample_id, drawn in zip(sample_ids[part], reports, strict=True)
            for k, report in enumerate(drawn)
        ]
        progress.update(len(reports))
    return rows


def _file(workspace: Path, number: int) -> Path:
    return workspace / f"shard-{number:05d}.parquet"


def _write(table: pa.Table, file: Path) -> None:
    partial = file.with_suffix(".partial")
    pq.write_table(table, partial)
    partial.rename(file)
