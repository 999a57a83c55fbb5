"""Rows of a data set by their place, so that processes read their own and nobody holds all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds


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


class Ranges:
    """A data set whose parts are read, best in their order: what lies before a part is passed over once.

    Args:
        rows: the data set.
    """

    def __init__(self, rows: ds.Dataset) -> None:
        self._files = list(rows.get_fragments())
        self._passage: _Passage | None = None

    def read(self, part: Rows, column: str) -> list[str]:
        """A column's texts of one part, the only rows that are held.

        Args:
            part: of `ranges`.
            column: its name.
        """
        if self._passage is None or not self._passage.leads_to(part, column):
            self._passage = _Passage(self._files[part.file], part, column)
        return self._passage.texts(part)


class _Passage:
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
