"""Labels of many reports, read shard by shard by as many workers as params.yaml says.

A labeler that computes with floats reads the reports of a shard in batches, on which its sums depend in
their last digits. Shards are cut whatever the workers, and none remembers the labels of another: labels are
the same bytes whoever reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from radrl.labelers import Labeler, LabelMatrix, build
from radrl.labelers.cached import CachedLabeler, LazyLabeler
from radrl.mapping.engines import Work, mapped

OF_FILES: Final = 4096
"""Rows of a shard that workers read from files by themselves."""
OF_TEXTS: Final = 512
"""Texts of a shard that is sent to a worker."""


class Rows(NamedTuple):
    """A run of rows of one file.

    Args:
        file: its number in the data set.
        start: its first row.
        stop: the row behind its last.
    """

    file: int
    start: int
    stop: int


def ranges(rows: ds.Dataset, most: int) -> list[Rows]:
    """Divide a data set, whatever it will be read by.

    Args:
        rows: the data set.
        most: rows of a part; none reaches over the end of its file.

    Returns:
        The parts in order, every row in one of them.
    """
    return [
        Rows(number, start, min(start + most, count))
        for number, file in enumerate(rows.get_fragments())
        for count in (file.count_rows(),)
        for start in range(0, count, most)
    ]


class RowSlices:
    """A data set whose parts are read, best in their order: what lies before a part is passed over once.

    Args:
        rows: the data set.
    """

    def __init__(self, rows: ds.Dataset) -> None:
        self._files = list(rows.get_fragments())
        self._passage: _ForwardCursor | None = None

    def read(self, part: Rows, column: str) -> list[str]:
        """A column's texts of one part, the only rows that are held.

        Args:
            part: of `ranges`.
            column: its name.
        """
        if self._passage is None or not self._passage.leads_to(part, column):
            self._passage = _ForwardCursor(self._files[part.file], part, column)
        return self._passage.texts(part)


class _ForwardCursor:
    """A way through one file, forwards."""

    def __init__(self, file: ds.Fragment, first: Rows, column: str) -> None:
        self._file, self._column, self._row = first.file, column, 0
        # without what reads ahead of those who are not asked
        batches = file.to_batches(
            columns=[column],
            batch_size=first.stop - first.start,
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        )
        self._batches: Iterator[pa.Array] = (batch.column(0) for batch in batches)
        self._rest = pa.array([])

    def leads_to(self, part: Rows, column: str) -> bool:
        return (part.file, column) == (self._file, self._column) and self._row <= part.start

    def texts(self, part: Rows) -> list[str]:
        found: list[str] = []
        while self._row < part.stop:
            if not len(self._rest):
                self._rest = next(self._batches)
            wanted = self._row >= part.start
            count = min((part.stop if wanted else part.start) - self._row, len(self._rest))
            if wanted:
                found += self._rest[:count].to_pylist()
            self._rest = self._rest[count:]
            self._row += count
        return found


@dataclass(frozen=True, slots=True)
class ParallelLabeler:
    """Who reads labels, and where.

    Args:
        settings: the section `labeler` of params.yaml.
        models: what the stage `labeler` wrote.
        name: which labeler; nothing for `labeler.name`.
        device: where it computes, as params.yaml's `device`.
        threads: of torch in each worker; nothing leaves them as they are.
        compute: the section `compute`; nothing for this process alone.
    """

    settings: Mapping[str, Any]
    models: Path | None = None
    name: str | None = None
    device: str = "cpu"
    threads: int | None = None
    compute: Mapping[str, Any] | None = None

    def build_labeler(self) -> Labeler:
        """The labeler, in this process and for one shard's labels at a time."""
        return build(
            self.settings,
            self.models,
            name=self.name,
            device=self.device,
            threads=self.threads,
            remembers=False,
        )

    def of_rows(self, rows: ds.Dataset, column: str) -> Iterator[LabelMatrix]:
        """Read labels of a data set's texts, of which a worker holds one shard's.

        Args:
            rows: the data set, whose files every worker sees.
            column: of the texts.

        Yields:
            Labels in the order of the rows, shape (n, 14), some at a time.
        """
        open_ = partial(_with_rows, self.build_labeler, rows, column)
        return self._mapped(Work(f"labels of {column}", open_, _of_rows), ranges(rows, OF_FILES))

    def knowing(self, texts: Sequence[str]) -> CachedLabeler:
        """A labeler of this process that knows the labels of texts which are in memory.

        Args:
            texts: reports, each distinct one of which is read once.

        Returns:
            The labeler; it loads its model when it is asked for another text.
        """
        labeler = LazyLabeler(self.name or self.settings["name"], self.build_labeler)
        return CachedLabeler(labeler, self.of_texts(texts))

    def of_texts(self, texts: Sequence[str]) -> dict[str, LabelMatrix]:
        """Read labels of texts that are in memory.

        Args:
            texts: reports, each distinct one of which is read once.

        Returns:
            By text its labels, shape (14,).
        """
        distinct = list(dict.fromkeys(texts))
        shards = [distinct[start : start + OF_TEXTS] for start in range(0, len(distinct), OF_TEXTS)]
        work = Work(
            f"labels by {self.name or self.settings['name']}", partial(_alone, self.build_labeler), _of_texts
        )
        found = [row for labels in self._mapped(work, shards) for row in labels]
        return dict(zip(distinct, found, strict=True))

    def _mapped(self, work: Work[Any, Any, LabelMatrix], shards: Sequence[Any]) -> Iterator[LabelMatrix]:
        return mapped(work, shards, self.compute, device=self.device)


@dataclass(frozen=True, slots=True)
class _RowsReader:
    """What a worker reads its rows with."""

    labeler: Labeler
    rows: RowSlices
    column: str


def _with_rows(
    make: Callable[[], Labeler], rows: ds.Dataset, column: str
) -> AbstractContextManager[_RowsReader]:
    return nullcontext(_RowsReader(make(), RowSlices(rows), column))


def _of_rows(reader: _RowsReader, part: Rows) -> LabelMatrix:
    return reader.labeler.label(reader.rows.read(part, reader.column))


def _alone(make: Callable[[], Labeler]) -> AbstractContextManager[Labeler]:
    return nullcontext(make())


def _of_texts(labeler: Labeler, texts: Sequence[str]) -> LabelMatrix:
    return labeler.label(texts)
