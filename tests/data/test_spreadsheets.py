"""What a spreadsheet would run has a quote before it in text tables, and is read again as it was."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pytest

from radrl.data.quarantine import Quarantine, Refusal
from radrl.data.records import Record, open_records
from radrl.data.spreadsheets import quoted, unquoted
from radrl.data.writing import whole_table

FORMULAS = [
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://example.org", "film")',
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "\n =1",
    "=",
]
TEXTS = [
    "",
    "\r",
    "\tclear",
    "-1",
    "-1.5e-3",
    "+",
    "-",
    "- No effusion. Heart size normal.",
    "There is = here",
    "'tis clear",
    "<b>",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_has_a_quote_before_it(text: str) -> None:
    assert quoted(text) == f"'{text}"


@pytest.mark.parametrize("text", TEXTS)
def test_other_texts_and_numbers_are_written_as_they_are(text: str) -> None:
    assert quoted(text) == unquoted(text) == text


@pytest.mark.parametrize("text", [*FORMULAS, *TEXTS, *(f"'{one}" for one in FORMULAS), "''=1"])
def test_what_was_written_is_read_again(text: str) -> None:
    assert unquoted(quoted(text)) == text


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet"])
def test_tables_hold_no_formula_and_give_the_texts_back(tmp_path: Path, format: str) -> None:
    path, texts = tmp_path / f"reports.{format}", [*FORMULAS, *TEXTS]
    schema = pa.schema([("id", pa.int64()), ("report", pa.string())])
    with whole_table(path, format, schema) as table:
        table.write([{"id": -number, "report": text} for number, text in enumerate(texts)])
    rows = list(open_records(path, format).rows())
    assert [row.values["report"] for row in rows if isinstance(row, Record)] == texts
    if format in ("csv", "tsv"):
        with path.open(newline="") as stream:
            cells = [row[1] for row in csv.reader(stream, delimiter="\t" if format == "tsv" else ",")]
        assert cells[1:] == [*(f"'{text}" for text in FORMULAS), *TEXTS]


def test_a_column_of_the_users_is_no_formula_either(tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    with whole_table(path, "csv", pa.schema([("=1+1", pa.string())])):
        pass
    assert path.read_text() == "'=1+1\n"


def test_ids_and_paths_of_refused_films_are_none() -> None:
    quarantine = Quarantine()
    quarantine.add(Refusal("=row 1", "missing_image", "no film", study_id="@study", image="=cmd|x.png"))
    quarantine.add(Refusal("row 2", "missing_image", "no film"))
    first, second = quarantine.table().to_pylist()
    assert (first["study_id"], first["image"]) == ("'@study", "'=cmd|x.png")
    assert second["image"] is None
