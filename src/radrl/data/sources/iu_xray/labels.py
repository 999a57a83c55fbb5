"""The table of human-indexed labels: the 14 NIH columns and `normal`, one study a row."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path
from typing import Final

from radrl.data.phantom.from_labels import COLUMNS
from radrl.data.quarantine import Reason, Refusal
from radrl.data.sources.iu_xray.csv_reports import open_with, row_key
from radrl.data.sources.iu_xray.study import study_id
from radrl.data.tables import BrokenRow, Row

_VALUES: Final = {"": False, "0": False, "0.0": False, "1": True, "1.0": True}


def read_labels(path: Path) -> tuple[dict[str, frozenset[str]], list[Refusal]]:
    """Read the table.

    Args:
        path: a CSV with `filename` (CXR12), `normal` and the columns of
            `radrl.data.phantom.from_labels.COLUMNS`.

    Returns:
        Study to its positive columns, and the rows that cannot be used.

    Raises:
        SourceError: it cannot be read or lacks a column.
    """
    columns = (*COLUMNS, "normal")
    table = open_with(path, ("filename", *columns))
    positive: dict[str, frozenset[str]] = {}
    refusals = []
    for row in table.rows():
        study = None if isinstance(row, BrokenRow) else study_id(row.cells["filename"])
        if problem := _problem(row, study, columns, positive):
            refusals.append(Refusal(row_key(table, row), *problem, study_id=study or ""))
        elif isinstance(row, Row) and study:
            positive[study] = frozenset(name for name in columns if _VALUES[row.cells[name].strip()])
    return positive, refusals


def _problem(
    row: Row | BrokenRow, study: str | None, columns: Iterable[str], known: Container[str]
) -> tuple[Reason, str] | None:
    if isinstance(row, BrokenRow):
        return "malformed_row", row.problem
    if study is None:
        return "missing_id", "column 'filename' holds no id such as CXR12"
    if study in known:
        return "duplicate_id", "an earlier row has labels of the study"
    if wrong := [name for name in columns if row.cells[name].strip() not in _VALUES]:
        return "malformed_row", f"column {wrong[0]!r} holds neither 0 nor 1"
    return None
