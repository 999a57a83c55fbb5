"""CSV and TSV files as people really write them, row by row, with nothing dropped on the way."""

from __future__ import annotations

import codecs
import csv
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)

_DELIMITERS: Final = (",", ";", "\t", "|")
_NOT_TEXT: Final = {
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "compressed with gzip; unpack it",
    b"PK": "a zip or Excel file; export it as CSV",
}
_NUL: Final = "\ufdd0"  # for NUL, which csv refuses before Python 3.11; no text holds this code point


class SourceError(ValueError):
    """A source as a whole cannot be read; the message names the file and the mend."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number as a spreadsheet shows it (the header is row 1), its cells by column."""

    number: int
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """One row that cannot be told apart into the header's columns."""

    number: int
    problem: str


@dataclass(frozen=True, slots=True)
class Table:
    """A delimited text file whose header has been read.

    Args:
        path: the file.
        encoding: `utf-8-sig`, or `latin-1` where the bytes are no UTF-8.
        delimiter: one character.
        columns: names in the header, stripped.
    """

    path: Path
    encoding: str
    delimiter: str
    columns: tuple[str, ...]

    def rows(self) -> Iterator[Row | BrokenRow]:
        """Read the rows below the header; blank lines are none, but count in the numbering.

        Raises:
            SourceError: a quote opens and never closes, so that what follows cannot be told apart.
        """
        lines = _parsed(self.path, self.encoding, self.delimiter)
        next(lines)
        for number, cells in lines:
            if isinstance(cells, str):
                yield BrokenRow(number, cells)
            elif len(cells) != len(self.columns):
                yield BrokenRow(number, f"{len(cells)} fields where the header has {len(self.columns)}")
            elif any(_NUL in cell for cell in cells):
                yield BrokenRow(number, "NUL byte")
            else:
                yield Row(number, dict(zip(self.columns, cells, strict=True)))


def open_table(path: Path) -> Table:
    """Find out a file's encoding, delimiter and columns.

    The delimiter is the tab in `.tsv` and `.tab` files, else the one of comma, semicolon, tab and bar
    that parts the header into most columns.

    Args:
        path: the file.

    Returns:
        The table, its rows not yet read.

    Raises:
        SourceError: no such file, no text, no header, or a column name that stands twice.
    """
    if not path.is_file():
        raise SourceError(f"{path} is no file")
    encoding = _encoding(path)
    tabbed = path.suffix.lower() in (".tsv", ".tab")
    delimiter = "\t" if tabbed else max(_DELIMITERS, key=lambda mark: len(_header(path, encoding, mark)))
    columns = _header(path, encoding, delimiter)
    if not any(columns):
        raise SourceError(f"{path} has no header row")
    if twice := sorted({name for name in columns if columns.count(name) > 1}):
        raise SourceError(f"{path} has several columns {', '.join(map(repr, twice))}; rename all but one")
    return Table(path, encoding, delimiter, columns)


def _encoding(path: Path) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as stream:
        head = stream.read(2)
        if head in _NOT_TEXT:
            raise SourceError(f"{path} is {_NOT_TEXT[head]}")
        try:
            decoder.decode(head)
            while chunk := stream.read(1 << 20):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            _log.warning("%s is no UTF-8 and is read as Latin-1", path.name)
            return "latin-1"
    return "utf-8-sig"


def _header(path: Path, encoding: str, delimiter: str) -> tuple[str, ...]:
    _, cells = next(_parsed(path, encoding, delimiter), (0, []))
    if isinstance(cells, str):
        raise SourceError(f"{path}: the header cannot be read: {cells}")
    return tuple(cell.strip() for cell in cells)


def _parsed(path: Path, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the number and the cells of each row that is not blank, or what is wrong with it."""
    with path.open(encoding=encoding, newline="") as stream:
        # strict: without it a stray quote would silently swallow the rows up to the next one
        reader = csv.reader((line.replace("\0", _NUL) for line in stream), delimiter=delimiter, strict=True)
        number = 0
        while True:
            number, first = number + 1, reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield number, _problem(error, path, first, reader.line_num)
            else:
                if cells:
                    yield number, cells


def _problem(error: csv.Error, path: Path, first: int, last: int) -> str:
    if "end of data" in str(error) or "field limit" in str(error):
        raise SourceError(
            f"{path}: a quote that opens in the row at line {first} is not closed by line {last}; close it"
        ) from error
    return f"lines {first} to {last}: {error}"
