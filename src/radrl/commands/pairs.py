"""References and hypotheses out of a file of rows, the bad rows set apart."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Any, Final

import numpy as np
import pyarrow as pa

from radrl.commands.common import Tally, judged, require_columns, text_problem
from radrl.commands.options import Given
from radrl.data.records import BadRow, Record, Records
from radrl.labelers import says_nothing

_AT_ONCE: Final = 1024
"""Rows held and scored at once."""

_DIGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that are read.

    Args:
        reference: of true reports.
        hypothesis: of generated reports.
        patient: of patients, if any.
        ids: of what identifies a row.
    """

    reference: str
    hypothesis: str
    patient: str | None
    ids: tuple[str, ...]

    @property
    def carried_columns(self) -> list[str]:
        """The columns that go with a report wherever it goes."""
        return list(dict.fromkeys([*self.ids, *([self.patient] if self.patient else [])]))

    @property
    def needed(self) -> list[str]:
        """All that are read."""
        return list(dict.fromkeys([*self.carried_columns, self.reference, self.hypothesis]))

    def require(self, records: Records) -> None:
        """Refuse columns that the file has not."""
        options = dict.fromkeys(self.ids, "--id")
        if self.patient:
            options[self.patient] = "--patient"
        options |= {self.reference: "--reference", self.hypothesis: "--hypothesis"}
        require_columns(records, options, text=[self.reference, self.hypothesis])

    def problem(self, values: Mapping[str, Any]) -> str | None:
        """Why a row cannot be scored, or nothing when it can."""
        for column in (self.reference, self.hypothesis):
            if problem := text_problem(values, column):
                return problem
        if says_nothing(values[self.reference]):
            said = values[self.reference].strip()
            what = f"{said!r}, which is no report" if said else "empty"
            return f"{self.reference!r} is {what}: there is nothing to compare with"
        if self.patient and values.get(self.patient) in (None, ""):
            return f"{self.patient!r} is empty: such rows would count as one patient's"
        return None


@dataclass(slots=True)
class Pairs:
    """Some reports beside their references.

    Args:
        numbers: of the rows they come from.
        references: the true reports.
        hypotheses: the generated reports.
        patients: of each report; the row's number where no column says it.
        own: by column, what goes with a report; `row` is the row's number.
    """

    numbers: list[int]
    references: list[str]
    hypotheses: list[str]
    patients: list[str]
    own: dict[str, list[Any]]


@dataclass(slots=True)
class Survey:
    """What a first reading tells of N pairs, in some bytes a row: none of their texts.

    Args:
        tally: of rows, and the first of those set apart.
        numbers: of the rows that are scored.
        patients: each patient's number, in the order in which they come; nothing where no column says whose
            a report is.
        empty: generated reports without a word, or with a table's word for a missing one alone.
        repeated: rows that have the identity of another one before them.
        types: of the columns that go with a report, in Parquet; `row` is the row's number.
    """

    tally: Tally = field(default_factory=Tally)
    numbers: array[int] = field(default_factory=lambda: array("q"))
    patients: dict[str, int] = field(default_factory=dict)
    empty: int = 0
    repeated: int = 0
    types: dict[str, pa.DataType] = field(default_factory=dict)


def survey(given: Given, records: Records, columns: Columns, learn: Callable[[Pairs], None]) -> Survey:
    """Read a file of reports for the first time.

    Args:
        given: what the command line says.
        records: the file.
        columns: what to read.
        learn: takes the pairs, some at a time.

    Returns:
        What there is to know before any pair is scored.

    Raises:
        click.ClickException: for columns that are not there, and for bad rows that may not be left out.
    """
    if records.format != "jsonl":
        columns.require(records)
    found, identities = Survey(), _Identities()
    with given.progress("reading", None) as bar:
        for pairs in batches(records, columns, found.tally.add, bar.update):
            found.numbers.extend(pairs.numbers)
            if columns.patient:
                for patient in pairs.patients:
                    found.patients.setdefault(patient, len(found.patients))
            found.empty += sum(map(says_nothing, pairs.hypotheses))
            identities.add([pairs.own[name] for name in given.ids])
            learn(pairs)
    if records.fields:
        columns.require(records)
    found.tally.require_good(given)
    found.repeated = identities.repeated()
    found.types = {"row": pa.int64()} | {name: records.fields[name] for name in columns.carried_columns}
    return found


def batches(
    records: Records,
    columns: Columns,
    each: Callable[[Record | BadRow], None],
    done: Callable[[int], object] = int,
) -> Iterator[Pairs]:
    """Read the good rows of a file, some at a time.

    Args:
        records: the file.
        columns: what to read.
        each: takes every row, the bad ones too.
        done: takes how many rows were read since it was last called.

    Yields:
        The pairs, in order.
    """
    rows = judged(records, columns.problem, columns.needed)
    while some := list(islice(rows, _AT_ONCE)):
        for row in some:
            each(row)
        if good := [row for row in some if isinstance(row, Record)]:
            yield _pairs(good, columns)
        done(len(some))


def _pairs(rows: Sequence[Record], columns: Columns) -> Pairs:
    numbers, values = [row.number for row in rows], [row.values for row in rows]
    return Pairs(
        numbers,
        [one[columns.reference] for one in values],
        [one[columns.hypothesis] for one in values],
        [str(one[columns.patient]) for one in values] if columns.patient else list(map(str, numbers)),
        {"row": numbers} | {name: [one.get(name) for one in values] for name in columns.carried_columns},
    )


class _Identities:
    """Identities of rows as digests, 16 bytes each."""

    def __init__(self) -> None:
        self._digests = bytearray()

    def add(self, columns: Sequence[Sequence[Any]]) -> None:
        """Take in rows, given by column."""
        for one in zip(*columns, strict=True):
            self._digests += blake2b(repr(one).encode(), digest_size=_DIGEST).digest()

    def repeated(self) -> int:
        """How many had come before."""
        digests = np.frombuffer(self._digests, dtype=f"V{_DIGEST}")
        return len(digests) - len(np.unique(digests))


def describe(columns: Columns, found: Survey) -> dict[str, Any]:
    """What was scored, for the record: columns and counts, no texts."""
    return {
        "reference": columns.reference,
        "hypothesis": columns.hypothesis,
        "patient": columns.patient,
        "reports": len(found.numbers),
        "patients": len(found.patients) if columns.patient else None,
        "empty": found.empty,
        "bad_rows": found.tally.bad,
    }
