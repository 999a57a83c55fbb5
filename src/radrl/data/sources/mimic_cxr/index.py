"""Every film that the tables name, in a few dozen bytes each, in the order in which it is read."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from radrl.data.quarantine import Refusal, Refused
from radrl.data.sources.mimic_cxr.layout import dicom_bytes, dicom_text, number
from radrl.data.tables import BrokenRow, Row, Table

_NONE: Final = -1


@dataclass(frozen=True, slots=True)
class Film:
    """One film as the tables name it.

    Args:
        key: table and row that named it first.
        packed: its name in 20 bytes.
        view: its ViewPosition; nothing where the metadata has no row of it.
        split: its official split; nothing where the split table has no row of it.
        problem: what makes it unusable, or nothing.
    """

    key: str
    packed: bytes
    study: int
    subject: int
    view: str | None
    split: str | None
    problem: Refused | None

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
        if column:
            self._codes[column][place] = codes.setdefault(row.cells[column].strip(), len(codes))

    def _append(self, packed: bytes, study: int, subject: int, row: int) -> None:
        self._packed += packed
        self._study.append(study)
        self._subject.append(subject)
        self._row.append(row)
        self._origin.append(len(self._tables) - 1)
        self._seen.append(0)
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
            )

    def _name(self, place: int) -> bytes:
        return bytes(self._packed[20 * place : 20 * place + 20])

    def _word(self, column: str, place: int) -> str | None:
        code = self._codes[column][place]
        return None if code == _NONE else self._words[column][code]

    def _key(self, place: int) -> str:
        return f"{self._tables[self._origin[place]]} row {self._row[place]}"
