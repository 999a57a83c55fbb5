"""The two tables of the CSV copy of IU X-Ray: reports, and the projection of every film."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from radrl.data import views
from radrl.data.quarantine import Refusal
from radrl.data.sources.iu_xray.study import Removed, Study, film_id, section, study_id, study_of
from radrl.data.tables import BrokenRow, Row, SourceError, Table, open_table

_log = logging.getLogger(__name__)

TAG_COLUMNS: Final = ("MeSH", "Problems")
"""Columns with the indexers' tags, the fuller one first: `Problems` holds the heads of `MeSH` alone."""

_NO_UID: Final = "column 'uid' holds no number"  # not the cell, which in a shifted row is patient text


def open_with(path: Path, columns: Iterable[str]) -> Table:
    """Open a table that must have these columns.

    Raises:
        SourceError: it cannot be read or lacks one.
    """
    table = open_table(path)
    if missing := [column for column in columns if column not in table.columns]:
        raise SourceError(
            f"{path} has no column {', '.join(map(repr, missing))}; it has: {', '.join(table.columns)}"
        )
    return table


def open_reports(path: Path) -> Table:
    """Open `indiana_reports.csv`.

    Raises:
        SourceError: it cannot be read or lacks a column.
    """
    return open_with(path, ("uid", "findings", "impression"))


def read_reports(table: Table, *, xxxx: Removed) -> Iterator[Study | Refusal]:
    """Read the reports row by row.

    Args:
        table: from `open_reports`.
        xxxx: `radrl.data.sources.iu_xray.study.section`.
    """
    tags = next((column for column in TAG_COLUMNS if column in table.columns), None)
    for row in table.rows():
        key = row_key(table, row)
        if isinstance(row, BrokenRow):
            yield Refusal(key, "malformed_row", row.problem)
        elif (study := study_id(row.cells["uid"])) is None:
            yield Refusal(key, "missing_id", _NO_UID)
        else:
            yield Study(
                key=key,
                study_id=study,
                findings=section(row.cells["findings"], xxxx=xxxx),
                impression=section(row.cells["impression"], xxxx=xxxx),
                tags=_tags(row.cells[tags]) if tags else (),
            )


def row_key(table: Table, row: Row | BrokenRow) -> str:
    """Where a row stands, and that its file is no UTF-8 if so."""
    encoding = " (latin-1)" if table.encoding == "latin-1" else ""
    return f"{table.path.name}{encoding} row {row.number}"


def _tags(cell: str) -> tuple[str, ...]:
    tags = (tag.strip() for tag in cell.split(";"))
    return tuple(tag for tag in tags if tag and tag.casefold() != "nan")


@dataclass(slots=True)
class Projections:
    """What the projections file says: each film's view, and each study's films in its order.

    Args:
        views: film id to view.
        names: film id to the file name in the table.
        keys: film id to the row.
        of_study: study to film ids.
        refusals: rows that cannot be used.
    """

    views: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    of_study: dict[str, list[str]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)


def read_projections(path: Path) -> Projections:
    """Read `indiana_projections.csv`.

    Raises:
        SourceError: it cannot be read or lacks a column.
    """
    table, words = open_with(path, ("uid", "filename", "projection")), views.table()
    found, unmapped = Projections(), set[str]()
    for row in table.rows():
        key = row_key(table, row)
        if refusal := _unusable(key, row, found):
            found.refusals.append(refusal)
            continue
        assert isinstance(row, Row)
        name, word = row.cells["filename"].strip(), views.normalise(row.cells["projection"])
        film = film_id(name) or ""
        if word and word not in words and word not in unmapped:
            unmapped.add(word)
            _log.warning("%s: projection %r is in no table of view words and counts as unknown", key, word)
        found.views[film], found.names[film] = words.get(word, "unknown"), name
        found.keys[film] = key
        found.of_study.setdefault(study_of(film), []).append(film)
    return found


def _unusable(key: str, row: Row | BrokenRow, found: Projections) -> Refusal | None:
    if isinstance(row, BrokenRow):
        return Refusal(key, "malformed_row", row.problem)
    name = row.cells["filename"].strip()
    film, study = film_id(name), study_id(row.cells["uid"])
    if film is None:
        return Refusal(
            key, "malformed_row", "column 'filename' names no film of this dataset", image=name or None
        )
    if study is None:
        return Refusal(key, "missing_id", _NO_UID, image=name)
    if study != study_of(film):
        return Refusal(key, "malformed_row", f"uid of {study} with a film of {study_of(film)}", study, name)
    if film in found.keys:
        return Refusal(key, "duplicate_film", f"{found.keys[film]} names the same film", study, name)
    return None
