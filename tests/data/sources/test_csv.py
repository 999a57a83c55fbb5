from pathlib import Path

import pytest

from radrl.data.quarantine import Refusal
from radrl.data.sources import csv
from radrl.data.study import Record, moment
from radrl.data.tables import SourceError

COLUMNS = {"image": "file", "report": "text"}


@pytest.fixture
def read(tmp_path):
    def read_text(content, columns=COLUMNS, **options):
        path = tmp_path / "reports.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(csv.read(path=path, image_root=tmp_path / "films", columns=columns, **options))

    return read_text


def test_a_row_becomes_a_record(read, tmp_path):
    columns = {role: role for role in csv.ROLES}
    header = ",".join(csv.ROLES)
    assert read(
        f"{header}\na/1.png,All,Clear.,Normal.,p1,s1,validate,AP Supine,Cough,061Y,2024-01-31\n", columns
    ) == [
        Record(
            key="reports.csv row 2",
            study_id="s1",
            patient_id="p1",
            image=tmp_path / "films" / "a/1.png",
            view="frontal",
            split="validate",
            findings="Clear.",
            impression="Normal.",
            report="All",
            indication="Cough",
            age=61,
            taken=738_915 * 86_400,  # days since 0001-01-01
        )
    ]


@pytest.mark.parametrize(
    ("age", "date", "problem"),
    [
        ("old", "", "'old' is no age"),
        ("300", "", "'300' is no age"),
        ("", "31.1.24", "'31.1.24' is no whole"),
    ],
)
def test_an_age_or_a_date_that_cannot_be_read_is_refused_with_the_mend(read, age, date, problem):
    columns = {**COLUMNS, "age": "age", "date": "date"}
    (refusal,) = read(f"file,text,age,date\n1.png,Clear.,{age},{date}\n", columns)
    assert refusal.reason == "malformed_row"
    assert problem in refusal.detail
    assert f"set columns.{'age' if age else 'date'} to null" in refusal.detail
    (record,) = read("file,text,age,date\n1.png,Clear.,,7\n", columns)
    assert (record.age, record.taken) == (None, 7)


def test_what_the_table_lacks_is_absent(read, tmp_path):
    assert read("file,text\n1.png,Clear.\n", {**COLUMNS, "split": None, "patient": None}) == [
        Record("reports.csv row 2", "", "", tmp_path / "films" / "1.png", report="Clear.")
    ]


@pytest.mark.parametrize("null", ["", "  ", "nan", "NA", "NULL", "None"])
def test_words_for_nothing_are_nothing(read, null):
    (record,) = read(f"file,text,split\n{null},{null},{null}\n", {**COLUMNS, "split": "split"})
    assert (record.image, record.report, record.split) == (None, None, None)


def test_quoted_newlines_and_delimiters_stay_in_the_report(read):
    (record,) = read('file,text\n1.png,"Heart normal,\nlungs ""clear""."\n')
    assert record.report == 'Heart normal,\nlungs "clear".'


def test_latin_1_is_read_and_stands_in_the_key(read):
    (record,) = read("file,text\n1.png,Épanchement\n".encode("latin-1"))
    assert record.report == "Épanchement"
    assert record.key == "reports.csv (latin-1) row 2"


@pytest.mark.parametrize(
    ("word", "view"), [("PA", "frontal"), ("L", "lateral"), ("", "unknown"), ("?", "unknown")]
)
def test_views_by_the_default_table(read, word, view):
    (record,) = read(f"file,text,v\n1.png,x,{word}\n", {**COLUMNS, "view": "v"})
    assert record.view == view


def test_own_view_words_are_added_and_unknown_ones_told_once(read, caplog):
    content = "file,text,v\n1.png,x,Thorax\n2.png,x,slanted\n3.png,x,slanted\n"
    records = read(content, {**COLUMNS, "view": "v"}, views={"thorax": "frontal"})
    assert [record.view for record in records] == ["frontal", "unknown", "unknown"]
    assert [message.args for message in caplog.records] == [("reports.csv row 3", "slanted")]


def test_broken_rows_are_refused_by_number(read):
    first, second = read("file,text\n1.png,a,b\n2.png,Clear.\n")
    assert first == Refusal("reports.csv row 2", "malformed_row", "3 fields where the header has 2")
    assert second.key == "reports.csv row 3"


@pytest.mark.parametrize("role", ["patient", "study"])
def test_empty_id_in_a_named_column_is_refused_with_the_mend(read, role):
    (refusal,) = read("file,text,id\n1.png,Clear.,nan\n", {**COLUMNS, role: "id"})
    assert (refusal.key, refusal.reason, refusal.image) == ("reports.csv row 2", "missing_id", "1.png")
    assert f"columns.{role}" in refusal.detail


def test_missing_column_lists_what_there_is_and_what_to_mend(tmp_path):
    path = tmp_path / "reports.csv"
    path.write_text("film,text\n")
    with pytest.raises(
        SourceError, match=r"no column 'file', which columns\.image names; it has: film, text"
    ):
        csv.read(path=path, image_root=tmp_path, columns=COLUMNS)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({**COLUMNS, "picture": "file"}, "'picture'.*valid: image, report"),
        ({"image": "file"}, "must name image and at least one of report"),
        ({"report": "text", "image": None}, "must name image"),
    ],
)
def test_wrong_roles_name_the_valid_ones(read, columns, message):
    with pytest.raises(ValueError, match=message):
        read("file,text\n", columns)


def test_missing_file_is_named():
    with pytest.raises(SourceError, match=r"none\.csv is no file"):
        csv.read(path=Path("none.csv"), image_root=Path(), columns=COLUMNS)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("20241345", 20241345),
        ("", None),
        (" 20240131", 738_915 * 86_400),
        ("2024-01-31", 738_915 * 86_400),
    ],
)
def test_dates_of_either_form_are_one_moment(text, number):
    assert moment(text) == number


def test_a_number_too_long_to_hold_is_refused():
    with pytest.raises(ValueError, match="no whole number and no date"):
        moment("20240131080500123")
