import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.data.tables import BrokenRow, Row, SourceError, open_table


@pytest.fixture
def written(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def cells(table):
    return [tuple(row.cells.values()) if isinstance(row, Row) else row.problem for row in table.rows()]


@pytest.mark.parametrize(
    ("name", "content", "delimiter"),
    [
        ("t.csv", "a,b\n1,2\n", ","),
        ("t.csv", "a;b\n1;2\n", ";"),
        ("t.txt", "a|b\n1|2\n", "|"),
        ("t.csv", "a\tb\n1\t2\n", "\t"),
        ("t.tsv", "a\tb\n1\t2\n", "\t"),
    ],
)
def test_delimiter_is_found(written, name, content, delimiter):
    table = open_table(written(content, name))
    assert table.delimiter == delimiter
    assert table.columns == ("a", "b")
    assert cells(table) == [("1", "2")]


def test_tsv_keeps_its_tabs_whatever_the_header_says(written):
    assert open_table(written("a, b, c\td\n1\t2\n", "t.tsv")).columns == ("a, b, c", "d")


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"\xef\xbb\xbfa,b\n\xc3\xa9,2\n", "utf-8-sig"),
        (b"a,b\n\xc3\xa9,2\n", "utf-8-sig"),
        (b"a,b\n\xe9,2\n", "latin-1"),
    ],
)
def test_encoding_is_found(written, content, encoding):
    table = open_table(written(content))
    assert table.encoding == encoding
    assert table.columns == ("a", "b")
    assert cells(table) == [("\u00e9", "2")]


def test_rows_are_numbered_as_a_spreadsheet_shows_them(written):
    table = open_table(written('a,b\n"1\nand more",2\n\n3,4\n'))
    assert [(row.number, row.cells["a"]) for row in table.rows()] == [(2, "1\nand more"), (4, "3")]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_of_every_system(written, newline):
    assert cells(open_table(written(newline.join(["a,b", "1,2", "3,4", ""])))) == [("1", "2"), ("3", "4")]


def test_broken_rows_are_told_apart_and_the_rows_after_them_are_read(written):
    table = open_table(written('a,b\n1\n1,2,3\nn\0,2\n"x"y,2\n5,6\n'))
    assert list(table.rows()) == [
        BrokenRow(2, "1 fields where the header has 2"),
        BrokenRow(3, "3 fields where the header has 2"),
        BrokenRow(4, "NUL byte"),
        BrokenRow(5, "lines 5 to 5: ',' expected after '\"'"),
        Row(6, {"a": "5", "b": "6"}),
    ]


@pytest.mark.parametrize("tail", ["3,4\n", "3,4\n" * 60_000])  # to the file's end, and past csv's field limit
def test_quote_that_never_closes_is_an_error_with_its_line(written, tail):
    table = open_table(written('a,b\n1,2\n5,"open\n' + tail))
    with pytest.raises(SourceError, match=r"t\.csv: a quote that opens in the row at line 3"):
        list(table.rows())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no header"),
        (b"\n\n", "no header"),
        (b"a,b,a\n", "several columns 'a'"),
        ("a,b\n".encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"PK\x03\x04", "Excel"),
        (b'"a,b\n1,2\n', "quote"),
    ],
)
def test_files_that_are_no_table(written, content, message):
    with pytest.raises(SourceError, match=rf"t\.csv.*{message}"):
        open_table(written(content))


def test_missing_file_is_named(tmp_path):
    with pytest.raises(SourceError, match=r"none\.csv is no file"):
        open_table(tmp_path / "none.csv")


# no lone surrogates, which no file holds, and no carriage return, which text streams do not keep
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0\ufdd0"))


@given(rows=st.lists(st.tuples(texts, texts), min_size=1))
def test_what_csv_writes_comes_back(tmp_path_factory, rows):
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerows([("a", "b"), *rows])
    path = tmp_path_factory.mktemp("table") / "t.csv"
    path.write_text(buffer.getvalue(), encoding="utf-8", newline="")
    assert cells(open_table(path)) == rows
