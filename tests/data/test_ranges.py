"""Rows of a data set by their place."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from radrl.labelers.parallel import Rows, RowSlices, ranges

SIZES = (10, 1, 0, 7)


@pytest.fixture
def rows(tmp_path: Path) -> ds.Dataset:
    """Files of several sizes, one of them empty, in groups of 4 rows."""
    for file, size in enumerate(SIZES):
        table = pa.table({"report": [f"{file}-{row}" for row in range(size)], "other": [*range(size)]})
        pq.write_table(table, tmp_path / f"part-{file}.parquet", row_group_size=4)
    return ds.dataset(tmp_path)


def test_parts_end_with_their_file(rows: ds.Dataset) -> None:
    files = [Rows(0, 0, 4), Rows(0, 4, 8), Rows(0, 8, 10), Rows(1, 0, 1), Rows(3, 0, 4), Rows(3, 4, 7)]
    assert ranges(rows, 4) == files


@pytest.mark.parametrize("most", [1, 3, 4, 100])
def test_every_row_is_read_once_and_in_order(rows: ds.Dataset, most: int) -> None:
    sent = RowSlices(pickle.loads(pickle.dumps(rows)))
    parts = ranges(rows, most)
    read = [sent.read(part, "report") for part in parts]
    assert [len(own) for own in read] == [part.stop - part.start for part in parts]
    assert [text for own in read for text in own] == rows.to_table().column("report").to_pylist()


def test_parts_in_another_order_are_the_same(rows: ds.Dataset) -> None:
    parts = ranges(rows, 3)
    sent = RowSlices(rows)
    every = {part: sent.read(part, "report") for part in parts}
    assert {part: sent.read(part, "report") for part in reversed(parts)} == every
    assert [sent.read(part, "report") for part in parts[::2]] == [every[part] for part in parts[::2]]


def test_a_table_in_memory_is_read_too() -> None:
    table = pa.concat_tables([pa.table({"report": ["a", "b", "c"]}), pa.table({"report": ["d"]})])
    rows = ds.dataset(table)
    assert [text for part in ranges(rows, 2) for text in RowSlices(rows).read(part, "report")] == [*"abcd"]
