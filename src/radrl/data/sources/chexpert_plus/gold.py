"""Labels that radiologists gave to CheXpert's films: `valid.csv`, or a majority vote by study."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from radrl.data.quarantine import Refusal, Refused
from radrl.data.sources.chexpert_plus.rows import study_of
from radrl.data.tables import BrokenRow, Row, SourceError, Table, open_table
from radrl.observations import BLANK, NEGATIVE, NO_FINDING, OBSERVATIONS, POSITIVE, UNCERTAIN

_VALUES: Final = {1.0: POSITIVE, 0.0: NEGATIVE, -1.0: UNCERTAIN}
_PATHS: Final = ("Path", "Study")

Labels = tuple[int, ...]


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

    def __len__(self) -> int:
        return len(self._keys)

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
