"""The radiologist's labels of MIMIC-CXR-JPG 2.1.0, `mimic-cxr-2.1.0-test-set-labeled.csv`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from radrl.data.quarantine import Refused
from radrl.data.sources.mimic_cxr.layout import check_columns, number
from radrl.data.tables import BrokenRow, Row, SourceError, open_table
from radrl.observations import BLANK, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN

_OTHER_NAMES: Final = {"Lung Opacity": "Airspace Opacity"}
_CLASSES: Final = {"": BLANK, "1": POSITIVE, "0": NEGATIVE, "-1": UNCERTAIN}


def read_gold(path: Path) -> dict[int, tuple[int, ...]]:
    """Read the labels: 1.0 is positive, 0.0 negative, -1.0 uncertain, an empty cell not mentioned.

    Args:
        path: the table, compressed or not; a column `study_id` and one an observation, `Airspace Opacity`
            being the file's word for Lung Opacity.

    Returns:
        Study to its 14 class indices in the order of `radrl.observations.OBSERVATIONS`.

    Raises:
        SourceError: with file and row where it cannot be read; its labels are few and checked by hand, so
            none is passed over.
    """
    table = open_table(path)
    columns = [
        _OTHER_NAMES[name] if name not in table.columns and name in _OTHER_NAMES else name
        for name in OBSERVATIONS
    ]
    check_columns(table, ("study_id", *columns))
    gold: dict[int, tuple[int, ...]] = {}
    for row in table.rows():
        if isinstance(row, BrokenRow):
            raise SourceError(f"{path} row {row.number}: {row.problem}")
        try:
            study, labels = number(row, "study_id"), tuple(_class(row, column) for column in columns)
        except Refused as refused:
            raise SourceError(f"{path} row {row.number}: {refused.detail}") from refused
        if gold.setdefault(study, labels) != labels:
            raise SourceError(f"{path} row {row.number}: study {study} has other labels in an earlier row")
    return gold


def _class(row: Row, column: str) -> int:
    text = row.cells[column].strip()
    found = _CLASSES.get(text.removesuffix(".0"))
    if found is None:
        raise Refused("malformed_row", f"{column} is {text!r}; valid: 1.0, 0.0, -1.0 and nothing")
    return found
