"""CSV and TSV files as people really write them, row by row, with nothing dropped on the way."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import logging
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, cast

_log = logging.getLogger(__name__)

_DELIMITERS: Final = (",", ";", "\t", "|")
_NOT_TEXT: Final = {
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "compressed with gzip; unpack it",
    b"PK": "a zip or Excel file; export it as CSV",
}
_NUL: Final = "\ufdd0"  # for NUL, which csv refuses before Python 3.11; no text holds this code point
_UNDECODABLE: Final = "\ufdd1"  # for bytes that are no text, likewise
_LONGEST_CELL: Final = 1 << 24  # characters; csv's own 131,072 takes a long report for an open quote
_MARK: Final = re.compile(f"[{_NUL}{_UNDECODABLE}]")


def _mark(error: UnicodeError) -> tuple[str, int]:
    return _UNDECODABLE, cast(UnicodeDecodeError, error).end


codecs.register_error("radrl.mark", _mark)
csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))


class SourceError(ValueError):
    """A source as a whole cannot be read; the message names the file and the mend."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number as a spreadsheet shows it (the header is row 1), its cells by column, its line."""

    number: int
    cells: dict[str, str]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """One row that cannot be told apart into the header's columns."""

    number: int
    problem: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Table:
    """A delimited text file whose header has been read.

    Args:
        path: the file.
        encoding: the one asked for, else `utf-8-sig`, or `latin-1` where few of the bytes are UTF-8.
        delimiter: one character.
        columns: names in the header, stripped.
    """

    path: Path
    encoding: str
    delimiter: str
    columns: tuple[str, ...]

    def require(self, columns: Iterable[str], mend: str = "") -> None:
        """Refuse a table that lacks a column.

        Args:
            columns: their names.
            mend: follows the columns that are there.

        Raises:
            SourceError: with those that are missing and those that are there.
        """
        if missing := [name for name in columns if name not in self.columns]:
            raise SourceError(
                f"{self.path} has no column {', '.join(map(repr, missing))}; "
                f"it has: {', '.join(self.columns)}{mend}"
            )

    def rows(self) -> Iterator[Row | BrokenRow]:
        """Read the rows below the header; blank lines are none, but count in the numbering.

        Raises:
            SourceError: a quote opens and never closes, so that what follows cannot be told apart; or the
                file is compressed and damaged.
        """
        lines = _parsed(self.path, self.encoding, self.delimiter)
        next(lines)
        for number, line, cells in lines:
            if isinstance(cells, str):
                yield BrokenRow(number, cells, line)
            elif len(cells) != len(self.columns):
                wrong = f"{len(cells)} fields where the header has {len(self.columns)}"
                yield BrokenRow(number, wrong, line)
            elif problem := unreadable(cells, self.encoding):
                yield BrokenRow(number, problem, line)
            else:
                yield Row(number, dict(zip(self.columns, cells, strict=True)), line)


def open_table(path: Path, *, encoding: str | None = None, delimiter: str | None = None) -> Table:
    """Find out a file's encoding, delimiter and columns.

    The delimiter is the tab in `.tsv` and `.tab` files, else the one of comma, semicolon, tab and bar
    that parts the header into most columns. Files that end in `.gz` are unpacked as they are read.

    Args:
        path: the file.
        encoding: read the file so, a row with other bytes being broken; by default UTF-8, or Latin-1
            where of the file's bytes beyond ASCII no more than half are UTF-8.
        delimiter: one character; by default the one found.

    Returns:
        The table, its rows not yet read.

    Raises:
        SourceError: no such file, no text, no header, or a column name that stands twice.
    """
    if not path.is_file():
        raise SourceError(f"{path.absolute()} is no file")
    encoding = _encoding(path, encoding)
    named = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    tabbed = named.suffix.lower() in (".tsv", ".tab")
    if delimiter is None:
        delimiter = "\t" if tabbed else max(_DELIMITERS, key=lambda mark: len(_header(path, encoding, mark)))
    columns = _header(path, encoding, delimiter)
    if not any(columns):
        raise SourceError(f"{path} has no header row; write the columns' names into its first line")
    if twice := sorted({name for name in columns if columns.count(name) > 1}):
        raise SourceError(f"{path} has several columns {', '.join(map(repr, twice))}; rename all but one")
    return Table(path, encoding, delimiter, columns)


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for its bytes, those of a `.gz` file unpacked.

    Args:
        path: the file.

    Yields:
        The stream.

    Raises:
        SourceError: the file cannot be opened; or reading it shows that the `.gz` file is none, or damaged.
    """
    try:
        opened = _opened(path)
    except OSError as error:
        raise SourceError(f"{path} cannot be opened: {error.strerror}") from error
    try:
        with opened as stream:
            yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(f"{path} is no gzip file, or damaged ({error}); fetch it again") from error


def _opened(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _encoding(path: Path, asked: str | None) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with unpacked(path) as stream:
        head = stream.read(2)
        if head in _NOT_TEXT and not (asked or "").lower().startswith("utf-16"):
            raise SourceError(f"{path} is {_NOT_TEXT[head]}")
        if asked:
            return asked
        try:
            decoder.decode(head)
            while chunk := stream.read(1 << 20):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            if _mostly_utf8(path):
                return "utf-8-sig"
            _log.warning("%s is no UTF-8 and is read as Latin-1", path.name)
            return "latin-1"
    return "utf-8-sig"


def _mostly_utf8(path: Path) -> bool:
    """Whether a file is UTF-8 with some damage, of which only the rows that have it are broken."""
    letters = damaged = 0
    with unpacked(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", errors="radrl.mark") as stream:
        while chunk := stream.read(1 << 20):
            damaged += chunk.count(_UNDECODABLE)
            letters += len(chunk) - len(chunk.encode("ascii", "ignore"))  # the damaged ones too
    return letters - damaged > damaged


def _header(path: Path, encoding: str, delimiter: str) -> tuple[str, ...]:
    _, _, cells = next(_parsed(path, encoding, delimiter), (0, 0, []))
    if problem := cells if isinstance(cells, str) else unreadable(cells, encoding):
        raise SourceError(f"{path}: the header cannot be read: {problem}; save it as UTF-8 text")
    return tuple(cell.strip() for cell in cells)


def unreadable(cells: list[str], encoding: str) -> str | None:
    """Why a row's text is not what the file meant, if so."""
    for cell in cells:
        if not cell.isascii() and (found := _MARK.search(cell)):
            return "NUL byte" if found[0] == _NUL else f"bytes that are no {encoding_name(encoding)}"
    return None


def encoding_name(encoding: str) -> str:
    """An encoding as messages name it."""
    return "UTF-8" if encoding.startswith("utf-8") else encoding


def _parsed(path: Path, encoding: str, delimiter: str) -> Iterator[tuple[int, int, list[str] | str]]:
    """Yield number, first line and cells of each row that is not blank, or what is wrong with it."""
    with (
        unpacked(path) as raw,
        io.TextIOWrapper(raw, encoding=encoding, errors="radrl.mark", newline="") as stream,
    ):
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
                yield number, first, _problem(error, path, first, reader.line_num)
            else:
                if cells:
                    yield number, first, cells


def _problem(error: csv.Error, path: Path, first: int, last: int) -> str:
    if "end of data" in str(error) or "field limit" in str(error):
        raise SourceError(
            f"{path}: a quote that opens in the row at line {first} is not closed by line {last}; close it"
        ) from error
    return f"lines {first} to {last}: {error}"
