"""Rows into CSV, TSV, JSON lines and Parquet, as files that are there as a whole or not at all.

The same rows give the same bytes on every Python.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final, Protocol, cast

import pyarrow as pa
import pyarrow.parquet as pq

from radrl.data import spreadsheets
from radrl.storage.whole_files import whole_file

Rows = Sequence[Mapping[str, Any]]

_GROUP_BYTES: Final = 64 << 20
_GROUP_ROWS: Final = 65_536
"""A row group of Parquet is written when it has this much of either."""


_AS_IS: Final = frozenset({int, type(None)})
"""What a csv writer writes as `_text` would."""


class RowWriter(Protocol):
    """Takes rows as they come."""

    def write(self, rows: Rows) -> None:
        """Write rows: values by column, a column that is absent being null."""
        ...


@contextmanager
def whole_table(path: Path, format: str, schema: pa.Schema) -> Iterator[RowWriter]:
    """A table that is there as a whole or not at all.

    Args:
        path: the file; packed when its name ends in `.gz`.
        format: one of `radrl.data.records.FORMATS`.
        schema: names of the columns in order, and their types, which only Parquet keeps.

    Yields:
        What takes the rows.
    """
    with ExitStack() as stack:
        stream = stack.enter_context(whole_file(path))
        if path.suffix.lower() == ".gz":
            # neither name nor time, so that the same rows give the same bytes
            zipped = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
            stream = cast(IO[bytes], stack.enter_context(zipped))
        yield stack.enter_context(row_writer(stream, format, schema))


@contextmanager
def row_writer(stream: IO[bytes], format: str, schema: pa.Schema) -> Iterator[RowWriter]:
    """A table on a stream, which stays open.

    Args:
        stream: where it goes.
        format: one of `radrl.data.records.FORMATS`.
        schema: names of the columns in order, and their types, which only Parquet keeps.

    Yields:
        What takes the rows.
    """
    if format == "parquet":
        writer = _Parquet(stream, schema)
        try:
            yield writer
        finally:  # pyarrow would close it later all the same, when the stream may be gone
            writer.close()
    elif format == "jsonl":
        yield _JsonLines(stream)
    else:
        yield _Delimited(stream, schema.names, "\t" if format == "tsv" else ",")


def holds_bytes(kind: pa.DataType) -> bool:
    """Whether values of a Parquet type are or contain bytes, which no text format holds."""
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return True
    return any(holds_bytes(kind.field(i).type) for i in range(kind.num_fields))


class _Delimited:
    """CSV or TSV in UTF-8: nothing for null, JSON for what is no text, a quote before a formula."""

    def __init__(self, stream: IO[bytes], columns: Sequence[str], delimiter: str) -> None:
        self._stream, self._columns, self._delimiter = stream, columns, delimiter
        self._lines([[spreadsheets.quoted(name) for name in columns]])

    def write(self, rows: Rows) -> None:
        columns = self._columns
        self._lines(
            [_cell(cell) if type(cell := row.get(name)) not in _AS_IS else cell for name in columns]
            for row in rows
        )

    def _lines(self, cells: Iterable[Sequence[object]]) -> None:
        lines = _Lines()
        # \r\n makes every Python quote a cell with either of them; the line itself ends in \n
        csv.writer(lines, delimiter=self._delimiter, lineterminator="\r\n").writerows(cells)
        self._stream.write("".join(lines).encode())


class _Lines(list[str]):
    """What a csv writer writes, each line ended by a line feed alone."""

    def write(self, line: str) -> None:
        self.append(line[:-2] + "\n")


class _JsonLines:
    """A JSON object a line in UTF-8, with the keys its row has."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, rows: Rows) -> None:
        self._stream.write("".join(_json(row) + "\n" for row in rows).encode())


class _Parquet:
    """Parquet with the schema's types; text columns take JSON for what is no text."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(stream, schema, compression="zstd")
        self._batches: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, rows: Rows) -> None:
        columns = [_column(rows, entry) for entry in self._schema]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._batches.append(batch)
        self._rows, self._bytes = self._rows + batch.num_rows, self._bytes + batch.nbytes
        if self._bytes >= _GROUP_BYTES or self._rows >= _GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            table = pa.Table.from_batches(self._batches, schema=self._schema)
            self._writer.write_table(table, row_group_size=self._rows)
        self._batches, self._rows, self._bytes = [], 0, 0


def _column(rows: Rows, entry: pa.Field) -> pa.Array:
    values = [row.get(entry.name) for row in rows]
    if pa.types.is_string(entry.type) or pa.types.is_large_string(entry.type):
        values = [value if value is None else _text(value) for value in values]
    return pa.array(values, entry.type)


def _cell(value: object) -> object:
    """A value as CSV has it, which no spreadsheet runs."""
    if isinstance(value, str):
        return spreadsheets.quoted(value) if value[:1] in spreadsheets.FIRST else value
    return _text(value)


def _text(value: object) -> object:
    """A value as CSV has it; JSON for a list, an object, a number, true and false."""
    if value is None or isinstance(value, str):
        return value
    plain = isinstance(value, (datetime.date, datetime.time, decimal.Decimal))
    return _plain(value) if plain else _json(value)


def _json(value: object) -> str:
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_without_nan(value))


def _without_nan(value: object) -> object:
    """JSON has no NaN and no infinity; null stands for them."""
    if isinstance(value, Mapping):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: object) -> str:
    """What JSON has no form for, such as the times of Parquet, as text."""
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat()) if isoformat else str(value)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)
