"""Rows of the release's table by their place in the file, and what a film's path says."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from radrl.data.tables import SourceError, Table, open_table, unreadable

_STUDY: Final = re.compile(r"(?:^|/)(patient\d+)/(study\d+)(?=/|$)")
_VIEW: Final = re.compile(r"/(view(\d+)_[a-z]+)\.\w+$")


def study_of(path: str) -> str | None:
    """Name the study of a film's or study's path, `patient00001_study1`; nothing where it names none.

    Studies are numbered within a patient, so the study folder alone names none.
    """
    found = _STUDY.search(path)
    return f"{found[1]}_{found[2]}" if found else None


def patient_of(study: str) -> str:
    """The patient of a study's name."""
    return study.partition("_")[0]


def film_of(path: str) -> str | None:
    """Name a film whatever folder, split and file format its path states; nothing where it names none."""
    study, view = study_of(path), _VIEW.search(path)
    return f"{study}_{view[1]}" if study and view else None


def view_number(path: str) -> int:
    """The number in `view2_lateral.jpg`; 0 where there is none."""
    view = _VIEW.search(path)
    return int(view[2]) if view else 0


@dataclass(frozen=True, slots=True)
class Found:
    """A row: its number as a spreadsheet shows it, its first byte, and its cells or what is wrong."""

    number: int
    offset: int
    cells: dict[str, str] | str


def open_rows(path: Path, columns: tuple[str, ...]) -> Table:
    """Open a table that rows are to be taken from by place.

    Args:
        path: the file, not compressed.
        columns: those it must have.

    Returns:
        The table.

    Raises:
        SourceError: it cannot be read, is compressed, or lacks a column.
    """
    if path.suffix.lower() == ".gz":
        raise SourceError(
            f"{path} is compressed; unpack it, since its rows are read by their place in the file"
        )
    table = open_table(path, delimiter=",")
    if missing := [name for name in columns if name not in table.columns]:
        raise SourceError(
            f"{path} lacks {', '.join(missing)}; this is no table of CheXpert Plus "
            f"(df_chexpert_plus_240401.csv). It has: {', '.join(table.columns)}"
        )
    return table


def scan(table: Table) -> Iterator[Found]:
    """Read every row below the header, in the file's order; blank lines count in the numbering only.

    Args:
        table: as `open_rows` gives it.

    Yields:
        The rows.

    Raises:
        SourceError: a quote opens and never closes.
    """
    with table.path.open("rb") as stream:
        lines = _Lines(stream, table.encoding)
        reader = csv.reader(lines, delimiter=table.delimiter, strict=True)
        number, header = 0, True
        while True:
            number, offset, line = number + 1, lines.position, reader.line_num + 1
            try:
                cells: dict[str, str] | str = _named(table, next(reader))
            except StopIteration:
                return
            except csv.Error as error:
                cells = _problem(error, table, line)
            if cells and not header:
                yield Found(number, offset, cells)
            header = header and not cells


class RowReader:
    """Takes rows from a table by their place; a context manager that holds the file open.

    Args:
        table: as `open_rows` gives it.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._stream = table.path.open("rb")

    def __enter__(self) -> RowReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def at(self, offset: int) -> dict[str, str]:
        """Read the row that begins at a place where `scan` found one.

        Raises:
            SourceError: there is none any more.
        """
        self._stream.seek(offset)
        lines = _Lines(self._stream, self._table.encoding)
        try:
            cells = _named(self._table, next(csv.reader(lines, delimiter=self._table.delimiter, strict=True)))
        except (csv.Error, StopIteration) as error:
            raise SourceError(f"{self._table.path} was changed while it was read") from error
        if isinstance(cells, str) or not cells:
            raise SourceError(f"{self._table.path} was changed while it was read")
        return cells


class _Lines:
    """A file's lines as text, and how many bytes of it were taken."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self.position = stream.tell()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if not (line := self._stream.readline()):
            raise StopIteration
        encoding = self._encoding if self.position == 0 or self._encoding != "utf-8-sig" else "utf-8"
        self.position += len(line)
        return line.decode(encoding, errors="radrl.mark")


def _named(table: Table, cells: list[str]) -> dict[str, str] | str:
    if cells and len(cells) != len(table.columns):
        return f"{len(cells)} fields where the header has {len(table.columns)}"
    if any("\0" in cell for cell in cells):
        return "NUL byte"
    if problem := unreadable(cells, table.encoding):
        return problem
    return dict(zip(table.columns, cells, strict=False))


def _problem(error: csv.Error, table: Table, line: int) -> str:
    if "end of data" in str(error) or "field larger" in str(error):
        raise SourceError(
            f"{table.path}: a quote that opens in the row at line {line} is not closed; close it"
        ) from error
    return f"line {line}: {error}"
