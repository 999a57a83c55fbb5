"""Reading the corpus: films and texts of a split, in the order ingest wrote them."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import overload

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

TEXTS = (
    "sample_id", "study_id", "patient_id", "split", "views",
    "findings", "impression", "report", "label_text", "gold",
)  # fmt: skip
"""Every column but the pixels, which are most of the bytes."""


def read(corpus: ds.Dataset, *, split: str | None = None, columns: Sequence[str] = TEXTS) -> pd.DataFrame:
    """Read columns of the corpus into memory.

    Args:
        corpus: the shards.
        split: only this split; nothing for all.
        columns: which columns; ask for `images` only where films are needed.

    Returns:
        One row a sample: a film with its report, or a study with all its films.

    Raises:
        ValueError: when the split has no film, naming the splits there are.
    """
    found = corpus.to_table(columns=list(columns), filter=pc.field("split") == split if split else None)
    if found.num_rows == 0:
        there = corpus.to_table(columns=["split"]).column("split").unique().to_pylist()
        raise ValueError(
            f"the corpus has no film in split {split!r} (it has {', '.join(sorted(there)) or 'no film'}); "
            "give the split films in ingest.phantom.studies or ingest.split_shares"
        )
    frame: pd.DataFrame = found.to_pandas()
    for name in {"views", "images"} & {*columns}:  # tuples, unlike arrays, can be hashed
        frame[name] = list(map(tuple, frame[name]))
    return frame


def holds(corpus: ds.Dataset, split: str) -> bool:
    """Whether a split has any film."""
    return bool(corpus.head(1, columns=["split"], filter=pc.field("split") == split).num_rows)


class Films(Sequence[tuple[bytes, ...]]):
    """The films of a split in the order of `read`, each shard read when one of its films is asked for.

    No more than a shard's films are held, whatever the size of the corpus: ask for them in order.

    Args:
        corpus: the shards.
        split: whose films.
    """

    def __init__(self, corpus: ds.Dataset, split: str) -> None:
        self._in_split = pc.field("split") == split
        self._shards = list(corpus.get_fragments())
        rows = (shard.count_rows(filter=self._in_split) for shard in self._shards)
        self._starts: list[int] = [0, *accumulate(rows)]
        self._held: tuple[int, pa.ChunkedArray] | None = None

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> tuple[bytes, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[bytes, ...]]: ...

    def __getitem__(self, index: int | slice) -> tuple[bytes, ...] | list[tuple[bytes, ...]]:
        """The films of one sample as PNG, or of several."""
        if isinstance(index, slice):
            return [self._of(number) for number in range(*index.indices(len(self)))]
        return self._of(range(len(self))[index])

    def digest(self) -> str:
        """A digest of all films, for a fingerprint: they may change and their samples keep their ids."""
        digest = hashlib.sha256()
        for own in self:
            for part in (len(own).to_bytes(8), *(len(film).to_bytes(8) + film for film in own)):
                digest.update(part)
        return digest.hexdigest()

    def _of(self, number: int) -> tuple[bytes, ...]:
        shard = bisect_right(self._starts, number) - 1
        if self._held is None or self._held[0] != shard:
            self._held = None  # before the next one is read
            read = self._shards[shard].to_table(columns=["images"], filter=self._in_split)
            self._held = shard, read.column("images")
        films: list[bytes] = self._held[1][number - self._starts[shard]].as_py()
        return tuple(films)


def pictures(corpus: ds.Dataset, sample_ids: Sequence[str]) -> dict[str, list[bytes]]:
    """The films of a few samples; of the shards that hold none of them no film is read.

    Args:
        corpus: the shards.
        sample_ids: which samples.

    Returns:
        Films as PNG by sample_id, in the given order.
    """
    asked = pc.field("sample_id").isin(list(sample_ids))
    films: dict[str, list[bytes]] = {}
    for shard in corpus.get_fragments():
        if shard.count_rows(filter=asked):
            rows = shard.to_table(columns=["sample_id", "images"], filter=asked).to_pylist()
            films |= {row["sample_id"]: row["images"] for row in rows}
    return {sample_id: films[sample_id] for sample_id in sample_ids}
