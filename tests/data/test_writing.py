import datetime
import decimal
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radrl.data import writing
from radrl.data.records import open_records
from radrl.data.writing import holds_bytes, row_writer, whole_table
from radrl.storage.whole_files import whole_file

SCHEMA = pa.schema([("a", pa.string()), ("b", pa.string())])
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufdd0\ufdd1"))


@settings(deadline=None)  # files are synced to the disk
@given(rows=st.lists(st.fixed_dictionaries({"a": TEXT, "b": TEXT}), min_size=1))
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet"])
def test_texts_come_back(tmp_path_factory, format, rows):
    path = tmp_path_factory.mktemp("writing") / f"t.{format}"
    with whole_table(path, format, SCHEMA) as table:
        table.write(rows[:1])
        table.write(rows[1:])
    assert [row.values for row in open_records(path, format).rows()] == rows


def written(format, rows, schema=SCHEMA):
    stream = io.BytesIO()
    with row_writer(stream, format, schema) as table:
        table.write(rows)
    return stream.getvalue()


def test_csv_by_hand():
    rows = [{"a": 'x,"y"', "b": "one\r\ntwo"}, {"a": None}, {"a": "\r", "b": "é"}]
    assert written("csv", rows).decode() == 'a,b\n"x,""y""","one\r\ntwo"\n,\n"\r",é\n'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (0.1, "0.1"),
        (True, "true"),
        ([1, {"k": None}], '[1, {"k": null}]'),
        (float("nan"), "null"),
        ([float("inf"), 1.0], "[null, 1.0]"),
        (decimal.Decimal("1.50"), "1.50"),
        (datetime.date(2024, 5, 1), "2024-05-01"),
        (datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC), "2024-05-01T12:00:00+00:00"),
    ],
)
def test_what_is_no_text(value, text):
    parquet = pq.read_table(io.BytesIO(written("parquet", [{"a": value, "b": ""}]))).to_pylist()
    assert parquet == [{"a": text, "b": ""}]
    line = json.loads(written("jsonl", [{"a": value}]))
    assert line["a"] in (text, json.loads(text) if text[0] in "[nt10" and "-" not in text else text)


def test_json_lines_keep_the_keys_a_row_has():
    assert written("jsonl", [{"b": "ä"}, {}]).decode() == '{"b": "ä"}\n{}\n'


def test_packed_bytes_carry_no_time_and_no_name(tmp_path):
    for name in ("one.csv.gz", "two.csv.gz"):
        with whole_table(tmp_path / name, "csv", SCHEMA) as table:
            table.write([{"a": "1", "b": "2"}])
    content = (tmp_path / "one.csv.gz").read_bytes()
    assert gzip.decompress(content) == b"a,b\n1,2\n"
    assert content == (tmp_path / "two.csv.gz").read_bytes()


def test_parquet_gathers_batches_into_row_groups(monkeypatch):
    monkeypatch.setattr(writing, "_GROUP_ROWS", 5)
    stream = io.BytesIO()
    with row_writer(stream, "parquet", SCHEMA) as table:
        for i in range(6):
            table.write([{"a": str(i)}, {"a": "x"}])
        table.write([])
    file = pq.ParquetFile(stream)
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [6, 6]


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def fail():
        with whole_file(path) as stream:
            stream.write(b"half")
            stream.flush()
            assert path.read_bytes() == b"old"
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("f", b"old")]
    with whole_file(path) as stream:
        stream.write(b"new")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("f", b"new")]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_table_that_fails_leaves_nothing(tmp_path, format):
    def fail():
        with whole_table(tmp_path / "t", format, SCHEMA) as table:
            table.write([{"a": "1"}])
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert not list(tmp_path.iterdir())


def test_which_types_hold_bytes():
    assert holds_bytes(pa.binary())
    assert holds_bytes(pa.list_(pa.struct([("bytes", pa.large_binary()), ("path", pa.string())])))
    assert not holds_bytes(pa.map_(pa.string(), pa.list_(pa.int8())))
