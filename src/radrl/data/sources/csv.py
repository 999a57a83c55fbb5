"""The source `csv`: any CSV or TSV of film paths and reports."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

from radrl.data.quarantine import Refusal
from radrl.data.sources import Source
from radrl.data.study import Record, moment, view_table, view_word, years
from radrl.data.tables import BrokenRow, Row, SourceError, Table, open_table
from radrl.parts.section import LocalPath, Section, takes

_log = logging.getLogger(__name__)
TEXTS: Final = ("report", "findings", "impression")
Role = Literal[
    "image", "report", "findings", "impression", "patient", "study", "split", "view",
    "indication", "age", "date",
]  # fmt: skip
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""What a column can be."""
_NULLS: Final = frozenset({"", "nan", "na", "n/a", "null", "none", "<na>"})


class CsvSection(Section):
    """A table of films and reports."""

    path: LocalPath
    image_root: LocalPath
    columns: dict[Role, str | None]
    views: dict[str, Literal["frontal", "lateral", "unknown"]]


@takes(CsvSection)
def csv(*, path: str, image_root: str, **settings: Any) -> Source:
    """A table of films and reports.

    Args:
        path: the file.
        image_root: the folder that the films' paths start from, and may not leave.
        **settings: further arguments of `radrl.data.sources.csv.read`.
    """
    root = Path(image_root)
    return Source(read(path=Path(path), image_root=root, **settings), root=root)


def read(
    *, path: Path, image_root: Path, columns: Mapping[str, str | None], views: Mapping[str, str] | None = None
) -> Iterator[Record | Refusal]:
    """Read a table with one film a row.

    Without a patient column each study counts as a patient of its own, so two studies of one patient may
    come to stand on both sides of a split; without a study column each row is a study of its own. A patient
    or study column that is named must be filled in every row. Cells such as `nan`, `NA` or `NULL`, which
    programs write for nothing, are empty.

    Args:
        path: the CSV or TSV file; encoding and delimiter as `radrl.data.tables.open_table` finds them.
        image_root: the folder that the paths in the image column start from.
        columns: role to column name, or to nothing: `image` and one of `report`, `findings`, `impression` at
            least; the others as available. `age` is in years, `date` what
            `radrl.data.study.moment` reads; a row with another age or date is refused, one without is not.
        views: view words of this file to `frontal`, `lateral` or `unknown`, added to
            `radrl.data.study.VIEW_WORDS`; a word that is in neither is `unknown`.

    Returns:
        A record a row in the file's order, or the refusal of a row that cannot be read. Keys are
        `reports.csv row 12`, with `(latin-1)` where the file is no UTF-8.

    Raises:
        SourceError: the file cannot be read or a column is missing; while records are read, that there are
            no rows.
        ValueError: a role or view is unknown.
    """
    table = open_table(path)
    return _records(table, image_root, _named(columns, table), view_table(views))


def _named(columns: Mapping[str, str | None], table: Table) -> dict[str, str]:
    if unknown := sorted(set(columns) - set(ROLES)):
        raise ValueError(f"columns names {unknown}; valid: {', '.join(ROLES)}")
    named = {role: column for role, column in columns.items() if column is not None}
    if "image" not in named or not any(role in named for role in TEXTS):
        raise ValueError(f"columns must name image and at least one of {', '.join(TEXTS)}")
    for role, column in named.items():
        if column not in table.columns:
            raise SourceError(
                f"{table.path} has no column {column!r}, which columns.{role} names; "
                f"it has: {', '.join(table.columns)}"
            )
    return named


def _records(
    table: Table, image_root: Path, named: Mapping[str, str], words: Mapping[str, str]
) -> Iterator[Record | Refusal]:
    source = table.path.name if table.encoding != "latin-1" else f"{table.path.name} (latin-1)"
    unmapped: set[str] = set()
    row = None
    for row in table.rows():
        key = f"{source} row {row.number}"
        if isinstance(row, BrokenRow):
            yield Refusal(key, "malformed_row", row.problem)
            continue
        cells = {role: _cell(row, column) for role, column in named.items()}
        view = view_word(cells.get("view", ""))
        if view and view not in words and view not in unmapped:
            unmapped.add(view)
            _log.warning("%s: view %r is in no table of view words and counts as unknown", key, view)
        yield (
            _missing_id(key, cells, named)
            or _unreadable(key, cells, named)
            or _record(key, cells, image_root, words.get(view, "unknown"))
        )
    if row is None:
        raise SourceError(f"{table.path} has a header and no rows below it")


def _cell(row: Row, column: str) -> str:
    text = row.cells[column].strip()
    return "" if text.casefold() in _NULLS else text


def _missing_id(key: str, cells: Mapping[str, str], named: Mapping[str, str]) -> Refusal | None:
    for role in ("patient", "study"):
        if role in named and not cells[role]:
            mend = f"column {named[role]!r} is empty; fill it, or set columns.{role} to null to do without"
            return Refusal(key, "missing_id", mend, cells.get("study", ""), cells["image"] or None)
    return None


def _unreadable(key: str, cells: Mapping[str, str], named: Mapping[str, str]) -> Refusal | None:
    for role, read_cell in (("age", years), ("date", moment)):
        try:
            read_cell(cells.get(role, ""))
        except ValueError as error:
            mend = f"column {named[role]!r}: {error}; mend it, or set columns.{role} to null to do without"
            return Refusal(key, "malformed_row", mend, cells.get("study", ""), cells["image"] or None)
    return None


def _record(key: str, cells: Mapping[str, str], image_root: Path, view: str) -> Record:
    return Record(
        key=key,
        study_id=cells.get("study", ""),
        patient_id=cells.get("patient", ""),
        image=image_root / cells["image"] if cells["image"] else None,
        view=view,
        split=cells.get("split") or None,
        findings=cells.get("findings") or None,
        impression=cells.get("impression") or None,
        report=cells.get("report") or None,
        indication=cells.get("indication") or None,
        age=years(cells.get("age", "")),
        taken=moment(cells.get("date", "")),
    )
