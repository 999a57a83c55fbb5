"""Rows from CSV, TSV, JSON lines and Parquet alike, one after the other, each broken one told by its number.

No file is held as a whole: text is read line by line, Parquet batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from radrl.data.spreadsheets import unquoted
from radrl.data.tables import BrokenRow, SourceError, Table, encoding_name, open_table, unpacked
from radrl.storage import json_files, table_files

ENDINGS: Final[dict[str, str]] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""The format that a file's name promises; the text ones may also end in `.gz`."""

FORMATS: Final = tuple(dict.fromkeys(ENDINGS.values()))

_BATCH: Final = 1024  # rows of Parquet held at once
_AGAIN: Final = "fetch it again"


@dataclass(frozen=True, slots=True)
class Record:
    """One row.

    Args:
        number: of the row, from 1, headers and blank lines not counted.
        line: of the file on which it begins, from 1; nothing in Parquet.
        values: by column; text in CSV, what JSON or Parquet hold otherwise. JSON lines may leave columns out.
    """

    number: int
    line: int | None
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BadRow:
    """One row that cannot be used.

    Args:
        number: as of a `Record`.
        line: as of a `Record`.
        problem: why.
        values: what can be read of it.
    """

    number: int
    line: int | None
    problem: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        line = "" if self.line in (None, self.number) else f" (line {self.line})"
        return f"row {self.number}{line}: {self.problem}"


class Records(Protocol):
    """A file of rows that can be read again and again.

    Attributes:
        path: the file.
        format: one of `FORMATS`.
    """

    path: Path
    format: str

    @property
    def fields(self) -> dict[str, pa.DataType]:
        """The columns and the type each takes in Parquet; of JSON lines those of the rows read so far."""
        ...

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Record | BadRow]:
        """Read the rows in order.

        Args:
            columns: all that is needed, which spares Parquet the rest; by default everything.

        Raises:
            SourceError: when the rows cannot be told apart, or the file is damaged.
        """
        ...


def format_of(path: Path) -> str | None:
    """The format that a file's name promises, or nothing.

    Example:
        >>> format_of(Path("reports.csv.gz"))
        'csv'
    """
    zipped = path.suffix.lower() == ".gz"
    found = ENDINGS.get((path.with_suffix("") if zipped else path).suffix.lower())
    return None if zipped and found == "parquet" else found


def open_records(path: Path, format: str, *, encoding: str = "utf-8") -> Records:
    """Open a file of rows.

    Args:
        path: the file; a text one that ends in `.gz` is unpacked as it is read.
        format: one of `FORMATS`.
        encoding: of text files. A row whose bytes it cannot decode is a bad row.

    Returns:
        The file, its rows not yet read.

    Raises:
        SourceError: no such file, no header, no Parquet, or a column name that stands twice.
    """
    if not path.is_file():
        raise SourceError(f"{path.absolute()} is no file")
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    if format == "parquet":
        return _Parquet(path)
    if format == "jsonl":
        return _JsonLines(path, encoding)
    return _Delimited(
        open_table(path, encoding=encoding, delimiter="\t" if format == "tsv" else None), format
    )


class _Delimited:
    """A CSV or TSV file: every column is text, without the quote that writing puts before a formula."""

    def __init__(self, table: Table, format: str) -> None:
        self.path, self.format = table.path, format
        self._table = table

    @property
    def fields(self) -> dict[str, pa.DataType]:
        return dict.fromkeys(self._table.columns, pa.string())

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Record | BadRow]:
        for number, row in enumerate(self._table.rows(), 1):
            if isinstance(row, BrokenRow):
                yield BadRow(number, row.line, row.problem)
            else:
                yield Record(number, row.line, _unquoted(row.cells))


def _unquoted(cells: dict[str, str]) -> dict[str, str]:
    """A row's texts; few have a quote, and the others are not copied."""
    if not any(text[:1] == "'" for text in cells.values()):
        return cells
    return {name: unquoted(text) for name, text in cells.items()}


@dataclass(slots=True)
class _JsonLines:
    """A JSON object a line; blank lines are none."""

    path: Path
    encoding: str
    format: str = "jsonl"
    _kinds: dict[str, set[type]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "\n".encode(self.encoding)[-1:] != b"\n":
            name = encoding_name(self.encoding)
            raise SourceError(f"{self.path}: JSON lines in {name} are not read; save the file as UTF-8")

    @property
    def fields(self) -> dict[str, pa.DataType]:
        return {name: _type_of(kinds) for name, kinds in self._kinds.items()}

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Record | BadRow]:
        number = 0
        with unpacked(self.path) as stream:
            for line, raw in enumerate(stream, 1):
                if raw.isspace():
                    continue
                number += 1
                values = _object(raw, self.encoding)
                if isinstance(values, str):
                    yield BadRow(number, line, values)
                else:
                    self._learn(values)
                    yield Record(number, line, values)

    def _learn(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            kinds = self._kinds.get(name)
            if kinds is None:
                kinds = self._kinds[name] = set()
            kinds.add(_Wide if type(value) is int and not -(2**63) <= value < 2**63 else type(value))


class _Wide:
    """The kind of an integer that no Parquet type holds."""


def _object(raw: bytes, encoding: str) -> dict[str, Any] | str:
    """The object on a line, or why there is none."""
    try:
        text = raw.decode(encoding)
        values = json_files.parsed(text)
    except UnicodeDecodeError:
        return f"bytes that are no {encoding_name(encoding)}"
    except json_files.NoJson as error:
        return f"no JSON: {error}"
    return values if isinstance(values, dict) else f"{kind_of(values)} where an object is expected"


def _type_of(kinds: set[type]) -> pa.DataType:
    """The Parquet type of a JSON column; text where its values share none."""
    plain = kinds - {type(None)}
    if plain == {bool}:
        return pa.bool_()
    if plain == {int}:
        return pa.int64()
    return pa.float64() if plain and plain <= {int, float} else pa.string()


class _Parquet:
    """A Parquet file, its columns of the types it says."""

    format = "parquet"

    def __init__(self, path: Path) -> None:
        self.path = path
        with table_files.refusing(path, SourceError, mend=_AGAIN):
            self.schema: pa.Schema = pq.read_schema(path)
            names = self.schema.names
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise SourceError(f"{path} has several columns {', '.join(map(repr, twice))}; rename all but one")

    @property
    def fields(self) -> dict[str, pa.DataType]:
        return dict(zip(self.schema.names, self.schema.types, strict=True))

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Record | BadRow]:
        number = 0

        def damaged(said: str) -> SourceError:
            return SourceError(f"{said}; rows came out up to {number}")

        wanted = None if columns is None else list(columns)
        with (
            table_files.refusing(self.path, damaged, mend=_AGAIN),
            pq.ParquetFile(self.path, pre_buffer=False) as file,
        ):
            for batch in file.iter_batches(_BATCH, columns=wanted):
                for values in _values(batch):
                    number += 1
                    if isinstance(values, str):
                        yield BadRow(number, None, values)
                    else:
                        yield Record(number, None, values)


def _values(batch: pa.RecordBatch) -> list[dict[str, Any] | str]:
    """Each row's values, or why it has none."""
    try:
        rows: list[dict[str, Any] | str] = batch.to_pylist()
        return rows
    except (ValueError, OverflowError):  # one of the rows; which one shows when each is tried alone
        return [_values_alone(batch.slice(i, 1)) for i in range(batch.num_rows)]


def _values_alone(row: pa.RecordBatch) -> dict[str, Any] | str:
    try:
        values: dict[str, Any] = row.to_pylist()[0]
        return values
    except UnicodeDecodeError:
        return "bytes that are no UTF-8"
    except (ValueError, OverflowError) as error:  # a time beyond the calendar
        return f"a value that cannot be read: {error}"


def kind_of(value: object) -> str:
    """What a value is, in the words of JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "text"),
        ((int, float), "a number"),
        (list, "a list"),
        (dict, "an object"),
    )
    return next((name for kinds, name in names if isinstance(value, kinds)), type(value).__name__)
