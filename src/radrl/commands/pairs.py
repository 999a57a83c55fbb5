"""References and hypotheses out of a file of rows, the bad rows set apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from radrl.commands.common import Tally, judged, require_columns, text_problem
from radrl.commands.options import Given
from radrl.data.records import BadRow, Records


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
    def own(self) -> list[str]:
        """The columns that go with a report wherever it goes."""
        return list(dict.fromkeys([*self.ids, *([self.patient] if self.patient else [])]))

    @property
    def needed(self) -> list[str]:
        """All that are read."""
        return list(dict.fromkeys([*self.own, self.reference, self.hypothesis]))

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
        if not values[self.reference].strip():
            return f"{self.reference!r} is empty: there is nothing to compare with"
        if self.patient and values.get(self.patient) in (None, ""):
            return f"{self.patient!r} is empty: such rows would count as one patient's"
        return None


@dataclass(slots=True)
class Pairs:
    """N reports beside their references.

    Args:
        numbers: of the rows they come from.
        references: the true reports.
        hypotheses: the generated reports.
        patients: of each report; the row's number where no column says it.
        own: by column, what goes with a report; `row` is the row's number.
        types: of `own` in Parquet.
        bad: the rows set apart.
    """

    numbers: list[int] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    hypotheses: list[str] = field(default_factory=list)
    patients: list[str] = field(default_factory=list)
    own: dict[str, list[Any]] = field(default_factory=dict)
    types: dict[str, pa.DataType] = field(default_factory=dict)
    bad: list[BadRow] = field(default_factory=list)

    def repeated(self, ids: Sequence[str]) -> int:
        """How many rows have the identity of another one before them."""
        known = set(map(repr, zip(*(self.own[name] for name in ids), strict=True)))
        return len(self.numbers) - len(known) if ids else 0


def read_pairs(given: Given, records: Records, columns: Columns) -> Pairs:
    """Read a file of reports.

    Args:
        given: what the command line says.
        records: the file.
        columns: what to read.

    Returns:
        The pairs and the bad rows.

    Raises:
        click.ClickException: for columns that are not there, and for bad rows that may not be left out.
    """
    if records.format != "jsonl":
        columns.require(records)
    pairs, tally = Pairs(own={"row": []} | {name: [] for name in columns.own}), Tally()
    with given.progress("reading", None) as bar:
        for row in judged(records, columns.problem, columns.needed):
            bar.update()
            tally.add(row)
            if isinstance(row, BadRow):
                pairs.bad.append(BadRow(row.number, row.line, row.problem, _only(row.values, given.ids)))
            else:
                _add(pairs, columns, row.number, row.values)
    if records.fields:
        columns.require(records)
    tally.require_good(given)
    pairs.types = {"row": pa.int64()} | {name: records.fields[name] for name in columns.own}
    return pairs


def _add(pairs: Pairs, columns: Columns, number: int, values: Mapping[str, Any]) -> None:
    pairs.numbers.append(number)
    pairs.references.append(values[columns.reference])
    pairs.hypotheses.append(values[columns.hypothesis])
    pairs.patients.append(str(values[columns.patient] if columns.patient else number))
    for name, kept in pairs.own.items():
        kept.append(values.get(name) if name in columns.own else number)


def _only(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def describe(columns: Columns, pairs: Pairs) -> dict[str, Any]:
    """What was scored, for the record: columns and counts, no texts."""
    return {
        "reference": columns.reference,
        "hypothesis": columns.hypothesis,
        "patient": columns.patient,
        "reports": len(pairs.numbers),
        "patients": len(set(pairs.patients)) if columns.patient else None,
        "empty": sum(not text.strip() for text in pairs.hypotheses),
        "bad_rows": len(pairs.bad),
    }
