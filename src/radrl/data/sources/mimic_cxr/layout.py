"""Where the files of MIMIC-CXR lie, and what its identifiers look like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from radrl.data.quarantine import Refused
from radrl.data.tables import Row, SourceError, Table, open_table

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


def find_table(kind: Kind, folders: Iterable[Path]) -> Table | None:
    """Open the table of a kind, compressed or not, the newest release of it.

    Raises:
        SourceError: it is damaged, or lacks a column.
    """
    for folder in folders:
        for path in (folder / f"{stem}.csv{end}" for stem in _STEMS[kind] for end in (".gz", "")):
            if path.is_file():
                table = open_table(path)
                check_columns(table, _COLUMNS[kind])
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


def check_columns(table: Table, needed: Iterable[str]) -> None:
    """Refuse a table without its columns.

    Raises:
        SourceError: with those that are missing and those that are there.
    """
    if missing := [name for name in needed if name not in table.columns]:
        raise SourceError(
            f"{table.path} has no column {', '.join(map(repr, missing))}; it has: {', '.join(table.columns)}"
        )


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
