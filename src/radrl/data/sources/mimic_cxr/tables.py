"""The release's tables: where they and the films lie, and every film that they name, in reading order."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

import numpy as np

from radrl.data.quarantine import Refusal, Refused
from radrl.data.tables import BrokenRow, Row, SourceError, Table, open_table

Films = Literal["jpg", "dcm"]
Kind = Literal["metadata", "split", "records", "studies"]

_VERSIONS: Final = ("2.1.0", "2.0.0")
_STEMS: Final[dict[Kind, tuple[str, ...]]] = {
    "metadata": tuple(f"mimic-cxr-{version}-metadata" for version in _VERSIONS),
    "split": tuple(f"mimic-cxr-{version}-split" for version in _VERSIONS),
    "records": ("cxr-record-list",),
    "studies": ("cxr-study-list",),
}
_COLUMNS: Final[dict[Kind, tuple[str, ...]]] = {
    "metadata": ("dicom_id", "study_id", "subject_id", "ViewPosition"),
    "split": ("dicom_id", "study_id", "subject_id", "split"),
    "records": ("dicom_id", "study_id", "subject_id"),
    "studies": ("study_id", "subject_id"),
}
_NUMBER: Final = re.compile(r"[0-9]{8}")
_DICOM: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{8}){4}")

_DATE: Final = re.compile(r"[0-9]{8}")
_TIME: Final = re.compile(r"[0-9]{1,6}(?:\.[0-9]*)?")
_NONE: Final = -1


def find_table(kind: Kind, folders: Iterable[Path]) -> Table | None:
    """Open the table of a kind, compressed or not, the newest release of it.

    Raises:
        SourceError: it is damaged, or lacks a column.
    """
    for folder in folders:
        for path in (folder / f"{stem}.csv{end}" for stem in _STEMS[kind] for end in (".gz", "")):
            if path.is_file():
                table = open_table(path)
                table.require(_COLUMNS[kind])
                return table
    return None


def need_table(kind: Kind, folders: Sequence[Path], why: str) -> Table:
    """Open a table that must be there.

    Raises:
        SourceError: it is not there, damaged, or lacks a column.
    """
    if (table := find_table(kind, folders)) is None:
        names = " or ".join(f"{stem}.csv(.gz)" for stem in _STEMS[kind])
        raise SourceError(f"no {names} in {' or '.join(map(str, folders))}, which {why} needs; set tables")
    return table


def number(row: Row, column: str) -> int:
    """Read a patient's or a study's number.

    Raises:
        Refused: `missing_id` or `malformed_row`.
    """
    text = row.cells[column].strip()
    if not text:
        raise Refused("missing_id", f"column {column!r} is empty")
    if not _NUMBER.fullmatch(text):
        raise Refused("malformed_row", f"{column} {text[:40]!r} is no number of 8 digits")
    return int(text)


def dicom_bytes(text: str) -> bytes:
    """Pack a film's name, five groups of eight hexadecimal digits, into 20 bytes.

    Raises:
        Refused: `missing_id` or `malformed_row`.
    """
    if not text:
        raise Refused("missing_id", "column 'dicom_id' is empty")
    if not _DICOM.fullmatch(text):
        raise Refused("malformed_row", f"dicom_id {text[:60]!r} is not five groups of 8 hexadecimal digits")
    return bytes.fromhex(text.replace("-", ""))


def dicom_text(packed: bytes) -> str:
    """The film's name that `dicom_bytes` packed."""
    return packed.hex("-", -4)


def study_path(subject: int, study: int) -> PurePosixPath:
    """Path of a study below `files`: the folder of its films, and without `.txt` the file of its report."""
    return PurePosixPath(f"p{str(subject)[:2]}", f"p{subject}", f"s{study}")


def check_films(root: Path, films: Films, studies: Iterable[tuple[int, int]]) -> None:
    """Make sure that the folder of films does not hold the other format.

    Args:
        root: the folder that holds `files`.
        films: the format asked for.
        studies: subject and study of the studies to look at; those that are not there tell nothing.

    Raises:
        SourceError: films of the other format alone.
    """
    folder, other = root / "files", "dcm" if films == "jpg" else "jpg"
    there: set[str] = set()
    for subject, study in studies:
        place = folder / study_path(subject, study)
        there |= {path.suffix for path in place.iterdir()} if place.is_dir() else set()
    if f".{other}" in there and f".{films}" not in there:
        raise SourceError(f"{folder} holds .{other} films and no .{films}; set films to {other}")


@dataclass(frozen=True, slots=True)
class Film:
    """One film as the tables name it.

    Args:
        key: table and row that named it first.
        packed: its name in 20 bytes.
        view: its ViewPosition; nothing where the metadata has no row of it.
        split: its official split; nothing where the split table has no row of it.
        taken: StudyDate and StudyTime as one number, 21800506213014; nothing where the metadata lack it.
        problem: what makes it unusable, or nothing.
    """

    key: str
    packed: bytes
    study: int
    subject: int
    view: str | None
    split: str | None
    problem: Refused | None
    taken: int | None = None

    @property
    def name(self) -> str:
        """The film's dicom_id."""
        return dicom_text(self.packed)


class Index:
    """Collects the films of the tables, then gives them by patient, study and name."""

    def __init__(self) -> None:
        self.refusals: list[Refusal] = []  # rows that name no film, or one again
        self._tables: list[str] = []
        self._packed = bytearray()  # 20 bytes a film
        self._study, self._subject, self._row = array("i"), array("i"), array("i")
        self._taken = array("q")
        self._origin, self._seen = array("b"), array("b")  # number of its first and of its last table
        self._words: dict[str, list[str]] = {"ViewPosition": [], "split": []}
        self._codes = {column: array("i") for column in self._words}  # place in the column's words
        self._problems: dict[int, Refused] = {}
        self._order = array("i")

    def __len__(self) -> int:
        return len(self._study)

    @property
    def views(self) -> list[str]:
        """All ViewPositions there are, in order of first appearance."""
        return list(self._words["ViewPosition"])

    def take(self, *tables: tuple[Table, str | None]) -> None:
        """Take the films of all tables in, and put them into order; to be called once.

        Args:
            tables: each with the column to keep, `ViewPosition`, `split` or nothing.
        """
        known: dict[bytes, int] = {}
        for table, column in tables:
            self._tables.append(table.path.name)
            codes: dict[str, int] = {}
            for row in table.rows():
                self._take_row(row, known, column, codes)
            if column:
                self._words[column] = list(codes)
        self._sort()

    def _take_row(
        self, row: Row | BrokenRow, known: dict[bytes, int], column: str | None, codes: dict[str, int]
    ) -> None:
        key = f"{self._tables[-1]} row {row.number}"
        if isinstance(row, BrokenRow):
            self.refusals.append(Refusal(key, "malformed_row", row.problem))
            return
        try:
            packed = dicom_bytes(row.cells["dicom_id"].strip())
            study, subject = number(row, "study_id"), number(row, "subject_id")
        except Refused as refused:
            self.refusals.append(Refusal(key, refused.reason, refused.detail))
            return
        place = known.setdefault(packed, len(self))
        if place == len(self):
            self._append(packed, study, subject, row.number)
        elif (self._study[place], self._subject[place]) != (study, subject):
            detail = f"{key} gives this film to another study or patient than {self._key(place)}; mend one"
            self._problems[place] = Refused("duplicate_id", detail)
        if self._seen[place] == len(self._tables):
            detail = f"dicom_id {dicom_text(packed)} stands in an earlier row too; take one out"
            self.refusals.append(Refusal(key, "duplicate_film", detail, f"s{study}"))
            return
        self._seen[place] = len(self._tables)
        self._taken[place] = max(self._taken[place], _moment(row.cells))
        if column:
            self._codes[column][place] = codes.setdefault(row.cells[column].strip(), len(codes))

    def _append(self, packed: bytes, study: int, subject: int, row: int) -> None:
        self._packed += packed
        self._study.append(study)
        self._subject.append(subject)
        self._row.append(row)
        self._origin.append(len(self._tables) - 1)
        self._seen.append(0)
        self._taken.append(_NONE)
        for codes in self._codes.values():
            codes.append(_NONE)

    def _sort(self) -> None:
        study, subject = np.array(self._study), np.array(self._subject)  # (N,)
        packed = np.frombuffer(bytes(self._packed), dtype="S20")
        self._order = array("i", np.lexsort((packed, study, subject)).astype(np.int32).tobytes())
        by_study = np.argsort(study, kind="stable")
        _, first, films = np.unique(study[by_study], return_index=True, return_counts=True)
        named_first = np.repeat(by_study[first], films)  # (N,), the first named film of each one's study
        strange = subject[by_study] != subject[named_first]
        for place, first_place in zip(by_study[strange], named_first[strange], strict=True):
            detail = f"{self._key(first_place)} gives this study to another patient; mend one"
            self._problems[int(place)] = Refused("duplicate_id", detail)

    def studies(self) -> Iterator[tuple[int, int]]:
        """Subject and study of each film, in the order in which films are given."""
        for place in self._order:
            yield self._subject[place], self._study[place]

    def names(self) -> Iterator[bytes]:
        """Each film's name in 20 bytes, in no order."""
        for place in range(len(self)):
            yield self._name(place)

    def __iter__(self) -> Iterator[Film]:
        for place in self._order:
            yield Film(
                key=self._key(place),
                packed=self._name(place),
                study=self._study[place],
                subject=self._subject[place],
                view=self._word("ViewPosition", place),
                split=self._word("split", place),
                problem=self._problems.get(place),
                taken=None if self._taken[place] == _NONE else self._taken[place],
            )

    def _name(self, place: int) -> bytes:
        return bytes(self._packed[20 * place : 20 * place + 20])

    def _word(self, column: str, place: int) -> str | None:
        code = self._codes[column][place]
        return None if code == _NONE else self._words[column][code]

    def _key(self, place: int) -> str:
        return f"{self._tables[self._origin[place]]} row {self._row[place]}"


def _moment(cells: dict[str, str]) -> int:
    """StudyDate (21800506) and StudyTime (80556.875 is 08:05:56) as one number, or `_NONE`."""
    date, time = (cells.get(column, "").strip() for column in ("StudyDate", "StudyTime"))
    if not _DATE.fullmatch(date):
        return _NONE
    seconds = int(time.partition(".")[0] or 0) if _TIME.fullmatch(time) else 0
    return int(date) * 1_000_000 + seconds
