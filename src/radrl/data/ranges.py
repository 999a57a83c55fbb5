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
    """A data set whose parts are read.

    Args:
        rows: the data set.
    """

    def __init__(self, rows: ds.Dataset) -> None:
        self._files = list(rows.get_fragments())

    def read(self, part: Rows, column: str) -> list[str]:
        """A column's texts of one part, the only rows that are held.

        Args:
            part: of `ranges`.
            column: its name.
        """
        found: list[str] = []
        at = 0
        for batch in self._batches(part, column):
            own = batch.slice(max(0, part.start - at), part.stop - max(at, part.start))
            found += own.column(0).to_pylist()
            at += batch.num_rows
            if at >= part.stop:
                break
        return found

    def _batches(self, part: Rows, column: str) -> Iterator[pa.RecordBatch]:
        # without what reads ahead of those who are not asked
        yield from self._files[part.file].to_batches(
            columns=[column],
            batch_size=part.stop - part.start,
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        )
