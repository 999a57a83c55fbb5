"""Reading the corpus: texts of a split in the order ingest wrote them, films one by one.

The corpus lies in Arrow files, which are mapped into memory: a film is read when it is asked for, processes
of one machine share the pages, and no stage holds a split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs

from radrl.data.study import AWAY

TEXTS = (
    "sample_id", "study_id", "patient_id", "split", "views",
    "findings", "impression", "report", "label_text", "gold",
)  # fmt: skip
"""Every column but the pixels, which are most of the bytes."""

ROWS_AT_ONCE = 256
"""Of a record batch in the files: what a pass over all columns holds."""


def write(table: pa.Table, path: Path) -> None:
    """Write a shard of the corpus.

    Args:
        table: with the columns of `radrl.data.admission.corpus_schema`.
        path: the file.
    """
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=ROWS_AT_ONCE)


def opened(paths: Path | Sequence[Path]) -> ds.Dataset:
    """Open shards as one dataset; nothing is read yet.

    Args:
        paths: the folder of the shards, or their files in order.
    """
    source = str(paths.resolve()) if isinstance(paths, Path) else [str(path.resolve()) for path in paths]
    return ds.dataset(source, format="ipc", filesystem=fs.LocalFileSystem(use_mmap=True))


def check(path: Path) -> None:
    """Look whether a shard is whole: a mapped file that is damaged would give wrong rows, or end the process.

    No film is read for it.

    Args:
        path: the file.

    Raises:
        ValueError: it is no shard, or damaged.
    """
    try:
        with pa.memory_map(str(path)) as source:
            shard = pa.ipc.open_file(source).read_all()
            shard.validate(full=True)
            rows = shard.num_rows
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is no shard of the corpus, or damaged ({error})") from error
    if rows == 0:  # no stage writes such a shard, and its index of rows may be what is lost
        raise ValueError(f"{path} is damaged: it holds no row")


def read(corpus: ds.Dataset, *, split: str | None = None, columns: Sequence[str] = TEXTS) -> pd.DataFrame:
    """Read texts of the corpus into memory.

    Args:
        corpus: the shards.
        split: only this split; nothing for all.
        columns: which columns; films are had by `Films`.

    Returns:
        One row a sample: a film with its report, or a study with all its films.

    Raises:
        ValueError: when the split has no film, naming the splits there are.
    """
    found = corpus.to_table(columns=list(columns), filter=pc.field("split") == split if split else None)
    if found.num_rows == 0:
        there = corpus.to_table(columns=["split"]).column("split").unique().to_pylist()
        mend = "ingest.away" if split == AWAY else "ingest.phantom.studies or ingest.split_shares"
        raise ValueError(
            f"the corpus has no film in split {split!r} (it has {', '.join(sorted(there)) or 'no film'}); "
            f"give the split films in {mend}"
        )
    frame: pd.DataFrame = found.to_pandas()
    if "views" in columns:
        frame["views"] = list(map(tuple, frame["views"]))  # tuples, unlike arrays, can be hashed
    return frame


def holds(corpus: ds.Dataset, split: str) -> bool:
    """Whether a split has any film."""
    return bool(corpus.head(1, columns=["split"], filter=pc.field("split") == split).num_rows)


class Films(Sequence[tuple[bytes, ...]]):
    """The films of samples as PNG, each read when it is asked for.

    Args:
        corpus: the shards.
        split: whose films, in the order of `read`.
        sample_ids: in place of a split: the films of these samples, in this order.

    Raises:
        KeyError: when the corpus lacks a sample, naming it.
    """

    def __init__(
        self, corpus: ds.Dataset, split: str | None = None, *, sample_ids: Sequence[str] | None = None
    ) -> None:
        # of a corpus in memory the table itself
        source = corpus.files if isinstance(corpus, ds.FileSystemDataset) else corpus.to_table()
        self._map(source)
        own = self._table
        self._rows = _of_split(own, split) if sample_ids is None else _of_ids(own, sample_ids)

    def _map(self, source: Sequence[str] | pa.Table) -> None:
        self._source, self._table = source, _mapped(source)
        self._images = self._table.column("images")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._source, self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> tuple[bytes, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[bytes, ...]]: ...

    def __getitem__(self, index: int | slice) -> tuple[bytes, ...] | list[tuple[bytes, ...]]:
        """The films of one sample, or of several."""
        if isinstance(index, slice):
            return [tuple(self._images[row].as_py()) for row in self._rows[index].tolist()]
        return tuple(self._images[int(self._rows[index])].as_py())

    def digest(self) -> str:
        """A digest of the samples, films and texts, for a fingerprint: as ingest noted it, row by row."""
        own = self._table.column("digest").take(pa.array(self._rows))
        return hashlib.sha256(b"".join(own.to_pylist())).hexdigest()


def _mapped(source: Sequence[str] | pa.Table) -> pa.Table:
    """All of the corpus without a copy: pages of its files come and go as they are read."""
    if isinstance(source, pa.Table):
        return source
    return pa.concat_tables(pa.ipc.open_file(pa.memory_map(file)).read_all() for file in source)


def _again(source: Sequence[str] | pa.Table, rows: npt.NDArray[np.int64]) -> Films:
    """Films that were sent to another process, which maps the files anew."""
    films = Films.__new__(Films)
    films._map(source)
    films._rows = rows
    return films


def _of_split(table: pa.Table, split: str | None) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.uint64] = pc.indices_nonzero(pc.equal(table.column("split"), split)).to_numpy()
    return found.astype(np.int64)


def _of_ids(table: pa.Table, sample_ids: Sequence[str]) -> npt.NDArray[np.int64]:
    known = pd.Index(table.column("sample_id").to_pandas())
    places: npt.NDArray[np.int64] = known.get_indexer(pd.Index(list(sample_ids), dtype=known.dtype))
    if (places < 0).any():
        lacking = sample_ids[int(np.argmin(places >= 0))]
        raise KeyError(f"the corpus lacks sample {lacking}; run ingest and what follows it again")
    return places


def pictures(corpus: ds.Dataset, sample_ids: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
    """The films of a few samples.

    Args:
        corpus: the shards.
        sample_ids: which samples.

    Returns:
        Films as PNG by sample_id, in the given order.
    """
    return dict(zip(sample_ids, Films(corpus, sample_ids=sample_ids), strict=True))


def boxes(corpus: ds.Dataset, sample_ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The places on the first films of a few samples that their references speak of.

    Args:
        corpus: the shards.
        sample_ids: which samples.

    Returns:
        By sample_id its boxes (`radrl.data.study.Box`); nothing of a corpus that was not asked for them.
    """
    if "boxes" not in corpus.schema.names:
        return {}
    asked = pc.field("sample_id").isin(list(sample_ids))
    rows = corpus.to_table(columns=["sample_id", "boxes"], filter=asked).to_pylist()
    return {row["sample_id"]: row["boxes"] or [] for row in rows}
