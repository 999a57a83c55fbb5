"""Reading; the kinds of bad rows are in tests/commands/test_label.py, with the words a user sees."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radrl.data.records import BadRow, Record, format_of, open_records
from radrl.data.tables import SourceError, open_table


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.csv", "csv"),
        ("a.TSV.gz", "tsv"),
        ("a.tab", "tsv"),
        ("a.ndjson", "jsonl"),
        ("a.pq", "parquet"),
        ("a.parquet.gz", None),
        ("a.gz", None),
        ("a.json", None),
        ("-", None),
    ],
)
def test_the_ending_says_the_format(name, format):
    assert format_of(Path(name)) == format


def test_rows_have_number_line_and_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"1\nand more",2\n\n3,4\n')
    rows = open_records(path, "csv")
    expected = [Record(1, 2, {"a": "1\nand more", "b": "2"}), Record(2, 5, {"a": "3", "b": "4"})]
    assert list(rows.rows()) == expected
    assert list(rows.rows()) == expected  # as often as one likes
    path.write_text('\n{"a": 1}\n \n{"b": 2}')
    assert list(open_records(path, "jsonl").rows()) == [Record(1, 2, {"a": 1}), Record(2, 4, {"b": 2})]


def test_a_bad_row_names_its_line_where_that_is_another_number():
    assert str(BadRow(3, 5, "why")) == "row 3 (line 5): why"
    assert str(BadRow(3, 3, "why")) == "row 3: why"
    assert str(BadRow(3, None, "why")) == "row 3: why"


def test_types_of_json_columns(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"int": 1, "float": 1, "bool": true, "wide": 9223372036854775808, "mixed": 1, "none": null, '
        '"text": "a"}\n'
        '{"int": null, "float": 0.5, "bool": false, "wide": 1, "mixed": true, "none": null, "nested": []}\n'
    )
    records = open_records(path, "jsonl")
    assert records.fields == {}
    list(records.rows())
    text = pa.string()
    assert records.fields == {
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "wide": text,
        "mixed": text,
        "none": text,
        "text": text,
        "nested": text,
    }


def test_parquet_reads_only_what_is_asked_for(tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", None], "c": [b"", b""]}), tmp_path / "t.parquet")
    records = open_records(tmp_path / "t.parquet", "parquet")
    assert records.fields == {"a": pa.int64(), "b": pa.string(), "c": pa.binary()}
    assert [row.values for row in records.rows(["b"])] == [{"b": "x"}, {"b": None}]


def test_a_damaged_parquet_file_says_where(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"a": [f"{i}" for i in range(4000)]}),
        path,
        row_group_size=1000,
        compression="zstd",
        use_dictionary=False,
    )
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 200] = b"\0" * 200
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"t\.parquet is no Parquet file, or damaged .*; rows .* up to \d+"):
        list(open_records(path, "parquet").rows())


@pytest.mark.parametrize(
    ("name", "content", "format", "encoding", "message"),
    [
        ("t.jsonl", b"{}", "jsonl", "utf-16", "JSON lines in utf-16 are not read"),
        ("t.csv", b"a,\xff\n", "csv", "utf-8", "the header cannot be read: bytes that are no UTF-8"),
        ("t.csv", b"a,b,a\n", "csv", "utf-8", "several columns 'a'"),
        ("t.csv", gzip.compress(b"a\n", mtime=0), "csv", "utf-8", "compressed with gzip"),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, format, encoding, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=message):
        open_records(tmp_path / name, format, encoding=encoding)


def test_parquet_with_a_name_twice_is_refused(tmp_path):
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="several columns 'a'"):
        open_records(tmp_path / "t.parquet", "parquet")


def test_tables_in_an_encoding_that_is_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\né\n", encoding="utf-16")
    assert [row.cells for row in open_table(path, encoding="utf-16").rows()] == [{"a": "é"}]
    path.write_bytes(b"a\n\xe9\n")
    assert [row.cells for row in open_table(path, encoding="latin-1").rows()] == [{"a": "é"}]
    (row,) = open_table(path, encoding="utf-8-sig").rows()
    assert (row.number, row.problem, row.line) == (2, "bytes that are no UTF-8", 2)


def test_tables_that_are_packed(tmp_path):
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(gzip.compress(b"a, b\tc\n1\t2\n"))
    table = open_table(path)
    assert table.columns == ("a, b", "c")
    assert [row.cells for row in table.rows()] == [{"a, b": "1", "c": "2"}]
