"""The release's table row by row, and the files beside it: a benchmark's split, radiologists' labels."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from radrl.data.quarantine import Refusal, Refused
from radrl.data.tables import BrokenRow, Row, SourceError, Table, open_table, unreadable
from radrl.observations import BLANK, NEGATIVE, NO_FINDING, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.storage import json_files

_STUDY: Final = re.compile(r"(?:^|/)(patient\d+)/(study\d+)(?=/|$)")
_VIEW: Final = re.compile(r"/(view(\d+)_[a-z]+)\.\w+$")

_VALUES: Final = {1.0: POSITIVE, 0.0: NEGATIVE, -1.0: UNCERTAIN}
_PATHS: Final = ("Path", "Study")
Labels = tuple[int, ...]


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
    table.require(columns, "; this is no table of CheXpert Plus (df_chexpert_plus_240401.csv)")
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

    def row_at(self, offset: int) -> dict[str, str]:
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


class Annotation:
    """The split of each film that an annotation file names.

    The file has R2Gen's layout: `{"train": [{"id": ..., "report": ..., "image_path": [...]}], "val": [...],
    "test": [...]}`. Its reports are dropped while it is read.

    Args:
        path: the JSON file.

    Raises:
        SourceError: it cannot be read, has another layout, or puts a film into two splits.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._films: dict[str, tuple[str, str]] = {}  # film -> split, key of its entry
        self.damaged: list[Refusal] = []
        for split, entries in _load(path).items():
            for number, entry in enumerate(entries, 1):
                self._take(split, f"{path.name} {split} entry {number}", entry)

    def _take(self, split: str, key: str, entry: Any) -> None:
        paths = entry.get("image_path") if isinstance(entry, dict) else None
        names = [film_of(path) for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
        if not names or None in names:
            detail = "image_path is no list of paths like train/patient00001/study1/view1_frontal.png"
            self.damaged.append(Refusal(key, "malformed_row", detail))
        for name in filter(None, names):
            known, first = self._films.setdefault(name, (split, key))
            if known != split:
                raise SourceError(f"{first} and {key} put one film into two splits; keep one of them")

    def split(self, path: str) -> str | None:
        """The split of a film by its path, or nothing where the file does not name it."""
        return self._films.get(film_of(path) or "", (None, ""))[0]

    def absent(self, films: set[str]) -> list[Refusal]:
        """Refuse the films that the file names and the release does not have.

        Args:
            films: names (`names.film_of`) of the release's films.

        Returns:
            A refusal a film, in the file's order.
        """
        detail = "the release's table has no row of this film"
        return [
            Refusal(key, "missing_report", detail, image=name)
            for name, (_, key) in self._films.items()
            if name not in films
        ]


def _load(path: Path) -> dict[str, list[Any]]:
    if not path.is_file():
        raise SourceError(f"{path} is no file; split mambaxray needs the benchmark's annotation file")
    content = json_files.read(path, SourceError, each=_without_report)
    splits = {"train", "val", "test"}
    if not isinstance(content, dict) or not splits <= set(content):
        raise SourceError(
            f"{path} has no keys train, val and test; this is not the benchmark's annotation file"
        )
    if bad := [name for name, entries in content.items() if not isinstance(entries, list)]:
        raise SourceError(f"{path}: {', '.join(map(repr, bad))} is no list of entries")
    return content


def _without_report(entry: dict[str, Any]) -> dict[str, Any]:
    entry.pop("report", None)
    return entry


class Gold:
    """The labels of each study that a label file names.

    One row a film with its `Path`, or one row a study with its `Study`, and a column an observation: 1
    positive, 0 negative, -1 uncertain, empty blank. No Finding is 1 or not. A study whose rows differ, or one
    of whose rows cannot be read, has no labels and is refused.

    Args:
        path: the CSV.

    Raises:
        SourceError: it cannot be read or lacks a column.
    """

    def __init__(self, path: Path) -> None:
        table = open_table(path)
        column = _path_column(table)
        self.name = table.path.name
        self._labels: dict[str, Labels] = {}
        self._keys: dict[str, str] = {}
        self._refused: dict[str, Refused] = {}
        self.damaged: list[Refusal] = []
        for row in table.rows():
            self._take(row, column)

    def _take(self, row: Row | BrokenRow, column: str) -> None:
        key = f"{self.name} row {row.number}"
        if isinstance(row, BrokenRow):
            self.damaged.append(Refusal(key, "malformed_row", row.problem))
            return
        if (study := study_of(row.cells[column].strip())) is None:
            detail = f"{column} names no patient and study, as valid/patient64541/study1 does"
            self.damaged.append(Refusal(key, "malformed_row", detail))
            return
        first = self._keys.setdefault(study, key)
        try:
            labels = _labels(row)
            if (differ := _differing(self._labels.setdefault(study, labels), labels)) and first != key:
                raise Refused(
                    "duplicate_id", f"{first} and {key} differ on {differ}; films of a study share labels"
                )
        except Refused as refused:
            self._refused.setdefault(study, Refused(refused.reason, f"{key}: {refused.detail}"))

    def __contains__(self, study: str) -> bool:
        return study in self._keys

    def labels(self, study: str) -> Labels | None:
        """The labels of a study: 14 class indices in the order of `radrl.observations.OBSERVATIONS`.

        Returns:
            Them, or nothing where the file does not name the study.

        Raises:
            Refused: its rows cannot be read, or differ.
        """
        if study in self._refused:
            raise self._refused[study]
        return self._labels.get(study)

    def absent(self, studies: set[str]) -> list[Refusal]:
        """Refuse the studies that the file names and the release does not have, in the file's order."""
        detail = "the release has no report of this study"
        return [
            Refusal(key, "missing_report", detail, study)
            for study, key in self._keys.items()
            if study not in studies
        ]


def _path_column(table: Table) -> str:
    column = next((name for name in _PATHS if name in table.columns), None)
    missing = [name for name in OBSERVATIONS if name not in table.columns]
    if column is None or missing:
        lacks = ([] if column else ["Path or Study"]) + missing
        raise SourceError(
            f"{table.path} lacks {', '.join(lacks)}; gold is a label file such as CheXpert's valid.csv. "
            f"It has: {', '.join(table.columns)}"
        )
    return column


def _labels(row: Row) -> Labels:
    return tuple(_label(name, row.cells[name].strip()) for name in OBSERVATIONS)


def _label(name: str, cell: str) -> int:
    try:
        label = _VALUES[float(cell)] if cell else BLANK
    except (ValueError, KeyError):
        raise Refused("malformed_row", f"{name} is {cell!r}; valid: 1, 0, -1 or empty") from None
    if name != OBSERVATIONS[NO_FINDING] or label == POSITIVE:
        return label
    if label == UNCERTAIN:
        raise Refused("malformed_row", f"{name} is {cell!r}; valid: 1, 0 or empty")
    return BLANK  # its two classes are present and not


def _differing(first: Labels, second: Labels) -> str:
    pairs = zip(OBSERVATIONS, first, second, strict=True)
    return ", ".join(name for name, one, other in pairs if one != other)
