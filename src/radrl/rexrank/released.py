"""Reports that other systems released, put beside the references of one's own reports of the same studies.

Two forms are read: a table with a study a row (as the authors of CXRMate-2 release theirs: `findings`,
`impression`, `study_id`), and ReXrank's JSON with `model_prediction` in each entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from radrl.data.records import BadRow, format_of, open_records
from radrl.data.tables import SourceError
from radrl.reports.sections import SectionTarget, choose
from radrl.rexrank.form import FormError, absent, entries
from radrl.rexrank.predictions import PREDICTION

STUDY: Final = "study_id"
NOTHING: Final = "/"
"""What CXRMate-2's authors write for a section that the system left out."""
_MIMIC: Final = re.compile(r"s?(\d{8})")
_HEADED: Final = re.compile(r"\s*findings:(?P<findings>.*?)impression:(?P<impression>.*)", re.I | re.S)


@dataclass(frozen=True, slots=True)
class Joined:
    """Rows for `radrl score`, and what found no partner.

    Args:
        rows: of sample_id, study_id, patient_id, reference, hypothesis, in the references' order.
        unreported: studies of the references that the system has no report of.
        elsewhere: how many released reports are of studies that the references have not.
    """

    rows: list[dict[str, str]]
    unreported: list[str]
    elsewhere: int


def study_key(name: str) -> str:
    """A study's name without what files spell differently.

    Args:
        name: of the study.

    Example:
        >>> study_key("patient64541/study1") == study_key("patient64541_study1")
        True
        >>> study_key("50414267") == study_key("s50414267") == study_key("p10000032_s50414267")
        True
    """
    last = re.split(r"[^0-9A-Za-z]+", name.strip())[-1]
    if found := _MIMIC.fullmatch(last):
        return f"s{found[1]}"
    return re.sub(r"[^0-9a-z]+", "", name.lower())


def read(path: Path, target: SectionTarget) -> dict[str, str]:
    """The released reports.

    Args:
        path: ReXrank's JSON, or a table (CSV, TSV, JSON lines, Parquet).
        target: the sections that are compared.

    Returns:
        By `study_key`; a report without any of the sections is empty.

    Raises:
        FormError: the file is of neither form, or names a study twice.
    """
    found: dict[str, str] = {}
    for name, report in _json(path, target) if path.suffix == ".json" else _table(path, target):
        if (key := study_key(name)) in found:
            raise FormError(f"{path.name}: study {name!r} stands twice; a system has one report of a study")
        found[key] = report
    if not found:
        raise FormError(f"{path.name} has no report")
    return found


def joined(released: Mapping[str, str], references: Path) -> Joined:
    """Put released reports beside references.

    Args:
        released: of `read`.
        references: a Parquet file of reports, as stage generate writes it, of any arm.

    Raises:
        FormError: the file has other columns, or no study of it has a released report.
    """
    rows, unreported, met = [], [], set()
    for row in _references(references):
        key = study_key(row[STUDY])
        if key not in released:
            unreported.append(row[STUDY])
            continue
        met.add(key)
        rows.append(row | {"hypothesis": released[key]})
    if not rows:
        theirs = next(iter(released))
        own = f"for example {unreported[0]!r}" if unreported else "it has none"
        raise FormError(
            f"no study of {references} ({own}) has a released report (of {theirs!r} and others); are both of "
            "one data set and one split?"
        )
    return Joined(rows, list(dict.fromkeys(unreported)), len(released.keys() - met))


def _table(path: Path, target: SectionTarget) -> Iterator[tuple[str, str]]:
    format = format_of(path)
    if format is None:
        raise FormError(f"{path.name}: give ReXrank's .json, or a table as .csv, .tsv, .jsonl or .parquet")
    try:
        records = open_records(path, format)
        for row in records.rows():
            if isinstance(row, BadRow):
                raise FormError(f"{path.name}: {row}")
            yield _of_row(path, row.number, row.values, target)
    except SourceError as error:
        raise FormError(str(error)) from None


def _of_row(path: Path, number: int, values: Mapping[str, Any], target: SectionTarget) -> tuple[str, str]:
    if missing := [name for name in (STUDY, "findings", "impression") if name not in values]:
        raise FormError(
            f"{path.name} has no column {missing[0]!r}; there are {', '.join(values)}. Give the reports as "
            f"{STUDY}, findings and impression"
        )
    if absent(values[STUDY]):
        raise FormError(f"{path.name} row {number}: no {STUDY}")
    findings, impression = (_section(values[name]) for name in ("findings", "impression"))
    return str(values[STUDY]), choose(target, findings=findings, impression=impression) or ""


def _json(path: Path, target: SectionTarget) -> Iterator[tuple[str, str]]:
    for key, entry in entries(path).items():
        report = entry.get(PREDICTION) if isinstance(entry, dict) else None
        if not isinstance(report, str):
            raise FormError(f"{path.name}: study {key!r} has no text under {PREDICTION!r}")
        name = key if absent(entry.get(STUDY)) else str(entry[STUDY])
        headed = _HEADED.fullmatch(report)
        if headed is None:
            yield name, report.strip()
            continue
        findings, impression = (_section(headed[part]) for part in ("findings", "impression"))
        yield name, choose(target, findings=findings, impression=impression) or ""


def _section(value: Any) -> str | None:
    """A section's text; nothing where it is absent."""
    if absent(value) or str(value).strip() in (NOTHING, "None"):
        return None
    return str(value).strip()


def _references(path: Path) -> Iterator[dict[str, str]]:
    import pyarrow.parquet as pq

    wanted = ("sample_id", STUDY, "patient_id", "reference")
    try:
        table = pq.read_table(path)
    except (OSError, ValueError) as error:
        raise FormError(f"{path} is no Parquet file that can be read ({type(error).__name__})") from None
    if missing := [name for name in wanted if name not in table.column_names]:
        raise FormError(f"{path} has no column {missing[0]!r}; give the reports of an arm (stage generate)")
    yield from table.select(list(wanted)).to_pylist()
