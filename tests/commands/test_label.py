import gzip
import io
import json
import random
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import OBSERVATIONS

CUT_SHORT = gzip.compress(random.Random(0).randbytes(99).hex().encode(), mtime=0)[:-20]
REPORTS = (
    "Mild cardiomegaly. No effusion or pneumothorax.",
    "The lungs are clear.",
    'Possible pneumonia, "left" base;\nno edema.',
    "Ödem möglich. Right pleural effusion.",
)
ROWS = [{"study": f"s{i}", "report": text} for i, text in enumerate(REPORTS)]
LABELS = RulesLabeler().label(REPORTS)
CHEXPERT = {0: None, 1: 1, 2: 0, 3: -1}


def as_text(value):
    return "" if value is None else str(value)


def expected(form=lambda value: value, codes=CHEXPERT):
    return [
        row | {name: form(codes[said]) for name, said in zip(OBSERVATIONS, labels, strict=True)}
        for row, labels in zip(ROWS, LABELS.tolist(), strict=True)
    ]


@pytest.mark.parametrize("target", ["o.csv", "o.tsv", "o.jsonl", "o.parquet"])
@pytest.mark.parametrize("source", ["r.csv", "r.tsv", "r.jsonl", "r.parquet"])
def test_every_format_into_every_other(radrl, table, read, tmp_path, source, target):
    result = radrl("label", table(ROWS, source), "-o", tmp_path / target)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"labelled 4 reports -> {tmp_path / target}\n"
    text = target.endswith("sv")
    assert read(tmp_path / target) == expected(as_text if text else lambda value: value)


def test_standard_output_is_the_table_alone(radrl, table):
    path = table(ROWS, "r.csv")
    result = radrl("label", path)
    assert result.stdout.splitlines()[0] == ",".join(["study", "report", *OBSERVATIONS])
    assert result.stderr == "labelled 4 reports\n"
    assert radrl("label", path, "-q").stderr == ""
    lines = radrl("label", path, "--to", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == expected()
    parquet = radrl("label", path, "--to", "parquet").stdout_bytes
    assert pq.read_table(io.BytesIO(parquet)).to_pylist() == expected()


def test_standard_input(radrl, table):
    path = table(ROWS, "r.jsonl")
    result = radrl("label", "-", "--from", "jsonl", "--to", "jsonl", input=path.read_bytes())
    assert [json.loads(line) for line in result.stdout.splitlines()] == expected()
    result = radrl("label", "-", input=b"report\n")
    assert result.exit_code == 2
    assert "standard input has no ending; say --from csv|tsv|jsonl|parquet" in result.stderr


def test_a_pipe_by_its_name(table):
    command = (
        f"{sys.executable} -m radrl.commands label -q <(cat {table(ROWS, 'r.jsonl')}) --from jsonl --to jsonl"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected()


def test_compressed_text(radrl, table, read, tmp_path):
    packed = tmp_path / "r.csv.gz"
    packed.write_bytes(gzip.compress(table(ROWS, "r.csv").read_bytes()))
    assert radrl("label", packed, "-o", tmp_path / "o.jsonl.gz").exit_code == 0
    lines = gzip.decompress((tmp_path / "o.jsonl.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line) for line in lines] == expected()


@pytest.mark.parametrize(
    ("classes", "codes"),
    [
        ("chexbert", {0: 0, 1: 1, 2: 2, 3: 3}),
        ("words", {0: None, 1: "positive", 2: "negative", 3: "uncertain"}),
    ],
)
@pytest.mark.parametrize("target", ["o.jsonl", "o.parquet"])
def test_classes(radrl, table, read, tmp_path, classes, codes, target):
    radrl("label", table(ROWS, "r.csv"), "--classes", classes, "-o", tmp_path / target)
    assert read(tmp_path / target) == expected(codes=codes)


def test_labels_only(radrl, table):
    path = table([{"a": "1", "text": "No edema.", "b": "x,y"}], "r.csv")
    numbered = radrl("label", path, "--column", "text", "--labels-only").stdout
    assert numbered.splitlines()[0].startswith("row,Enlarged")
    assert numbered.splitlines()[1].startswith("1,,,,,0,")
    named = radrl("label", path, "--column", "text", "--labels-only", "--id", "b", "--id", "a").stdout
    assert named.splitlines()[1].startswith('"x,y",1,,')


def test_labels_that_are_there_already_are_not_overwritten(radrl, table):
    path = table([{"report": "No edema.", "Edema": "1"}], "r.csv")
    result = radrl("label", path)
    assert result.exit_code == 2
    assert "columns Edema: --prefix names the new ones otherwise" in result.stderr
    header, row = radrl("label", path, "--prefix", "rules ").stdout.splitlines()
    assert header.startswith("report,Edema,rules Enlarged")
    assert row.startswith("No edema.,1,,,,,0,")


def test_settings_of_the_rules(radrl, table):
    path = table([{"report": "Atelectasis or pneumonia. Emphysema."}], "r.csv")

    def said(*options):
        (line,) = radrl("label", path, "--to", "jsonl", *options).stdout.splitlines()
        return json.loads(line)

    assert said()["Pneumonia"] == -1
    assert said("--alternatives", "positive")["Pneumonia"] == 1
    emphysema = table([{"report": "Emphysema."}], "e.csv")
    assert '"No Finding": null' in radrl("label", emphysema, "--to", "jsonl").stdout
    assert '"No Finding": null' in radrl("label", emphysema, "--to", "jsonl", "--other-findings").stdout
    assert '"No Finding": 1' in radrl("label", emphysema, "--to", "jsonl", "--no-other-findings").stdout


@pytest.mark.parametrize("name", ["chexbert", "chexbert_compact"])
def test_a_chexbert_needs_its_model(radrl, table, name):
    result = radrl("label", table(ROWS, "r.csv"), "--labeler", name)
    assert result.exit_code == 2
    assert f"--labeler {name} reads with a model: give its folder with --model" in result.stderr


@pytest.mark.parametrize("given", ["", "chexbert", "chexbert/chexbert.pth"])
def test_a_chexbert_by_its_file_its_folder_or_the_stages(radrl, table, chexbert, given):
    from radrl.labelers.chexbert.labeler import CheXbertLabeler

    options = ("--labeler", "chexbert", "--model", chexbert / given, "--classes", "chexbert", "--to", "jsonl")
    result = radrl("label", table(ROWS, "r.csv"), *options)
    labels = CheXbertLabeler.from_folder(chexbert / "chexbert").label(REPORTS)
    said = [[json.loads(line)[name] for name in OBSERVATIONS] for line in result.stdout.splitlines()]
    assert said == labels.tolist()
    assert len({value for row in said for value in row}) > 1


def test_a_model_that_is_none_is_said_with_the_mend(radrl, table, tmp_path):
    result = radrl("label", table(ROWS, "r.csv"), "--labeler", "chexbert", "--model", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: no chexbert.pth in {tmp_path}: put")


def test_types_of_parquet_are_kept(radrl, tmp_path):
    schema = pa.schema(
        [
            ("report", pa.large_string()),
            ("when", pa.timestamp("ns", "UTC")),
            ("view", pa.dictionary(pa.int32(), pa.string())),
            ("dose", pa.decimal128(5, 2)),
            ("boxes", pa.list_(pa.struct([("x", pa.float32())]))),
            ("film", pa.binary()),
        ]
    )
    values = ["No edema.", 1_700_000_000_123_456_789, "PA", None, [{"x": 0.5}], b"\0\xff"]
    table = pa.table(
        [pa.array([value], kind) for value, kind in zip(values, schema.types, strict=True)], schema
    )
    pq.write_table(table, tmp_path / "r.parquet")
    assert radrl("label", tmp_path / "r.parquet", "-o", tmp_path / "o.parquet").exit_code == 0
    assert pq.read_table(tmp_path / "o.parquet", columns=schema.names).equals(table)
    assert pq.read_schema(tmp_path / "o.parquet").field("Edema").type == pa.int8()
    result = radrl("label", tmp_path / "r.parquet")
    assert result.exit_code == 2
    assert "column 'film' holds bytes, which csv cannot" in result.stderr
    text = radrl("label", tmp_path / "r.parquet", "--labels-only", "--id", "boxes", "--id", "when").stdout
    assert text.splitlines()[1].startswith('"[{""x"": 0.5}]",2023-11-14T22:13:20.123456789+00:00,')


def test_json_of_many_kinds(radrl, tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(
        '{"report": "No edema.", "n": 1, "x": 1, "any": [1, {"a": null}], "late": null}\n'
        "\n"
        '{"n": 2, "x": 0.5, "any": "text", "report": "", "new": true}\n'
    )
    assert radrl("label", path, "-o", tmp_path / "o.jsonl").exit_code == 0
    first, second = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert list(first)[:5] == ["report", "n", "x", "any", "late"]
    assert "new" not in first
    assert second["new"] is True
    radrl("label", path, "-o", tmp_path / "o.parquet")
    rows = pq.read_table(tmp_path / "o.parquet").to_pylist()
    assert [row["any"] for row in rows] == ['[1, {"a": null}]', "text"]
    assert [(row["n"], row["x"], row["new"], row["late"]) for row in rows] == [
        (1, 1.0, None, None),
        (2, 0.5, True, None),
    ]


def test_empty_reports_are_blank_and_counted(radrl, table):
    texts = ["", " \n", "nan", "NA", "12"]
    result = radrl("label", table([{"report": text} for text in texts], "r.jsonl"), "--labels-only")
    assert result.stdout.splitlines()[1:] == [f"{row}" + "," * 14 for row in range(1, 6)]
    assert result.stderr == "labelled 5 reports, 5 of them no report\n"


BAD = {
    "csv": (
        b'id,report\n1,No edema.\n2\n3,a,b\n\n4,"x"y\n5,\xff\n6,n\0ul\n7,"two\nlines"\n8,\n9\n',
        [
            "row 2 (line 3): 1 fields where the header has 2",
            "row 3 (line 4): 3 fields where the header has 2",
            "row 4 (line 6): lines 6 to 6: ',' expected after '\"'",
            "row 5 (line 7): bytes that are no UTF-8",
            "row 6 (line 8): NUL byte",
            "row 9 (line 12): 1 fields where the header has 2",
        ],
        9,
    ),
    "jsonl": (
        b'{"id": 1, "report": "No edema."}\n\n{"id": 2}\n{"id": 3, "report": null}\n{"id": 4, "report": 5}\n'
        b'{"id": 5, "report": "x"\n[6]\n{"id": 7, "report": "\xff"}\n{"id": 8, "report": "\\ud800"}\n'
        b'{"id": 9, "report": ["x"]}\n{"id": 10, "report": ""}\n',
        [
            "row 2 (line 3): no 'report'",
            "row 3 (line 4): 'report' is null",
            "row 4 (line 5): 'report' is a number, not text",
            "row 5 (line 6): no JSON: Expecting ',' delimiter at character 25",
            "row 6 (line 7): a list where an object is expected",
            "row 7 (line 8): bytes that are no UTF-8",
            "row 8 (line 9): no JSON: half of a surrogate pair (\\ud800 to \\udfff alone), which is no text",
            "row 9 (line 10): 'report' is a list, not text",
        ],
        10,
    ),
}


def bad_parquet(path):
    texts = pa.array(["No edema.", None, "x", ""], pa.string())
    broken = pa.StringArray.from_buffers(
        4,
        texts.buffers()[1],
        pa.py_buffer(texts.buffers()[2].to_pybytes().replace(b"x", b"\xff")),
        texts.buffers()[0],
    )
    pq.write_table(pa.table({"id": [1, 2, 3, 4], "report": broken}), path)


BAD_PARQUET = ["row 2: 'report' is null", "row 3: bytes that are no UTF-8"]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_bad_rows_are_named_and_nothing_is_written(radrl, tmp_path, format):
    path = tmp_path / f"r.{format}"
    problems, total = (BAD_PARQUET, 4) if format == "parquet" else BAD[format][1:]
    bad_parquet(path) if format == "parquet" else path.write_bytes(BAD[format][0])
    for target in (["-o", tmp_path / "o.csv"], []):
        result = radrl("label", path, *target)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.splitlines() == [
            f"Error: r.{format}: {len(problems)} of {total} rows cannot be used:",
            *(f"  {problem}" for problem in problems),
            "Mend them, or leave them out with --skip-bad BAD.csv. Nothing was written.",
        ]
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_bad_rows_can_be_left_out_and_listed(radrl, read, tmp_path, format):
    path = tmp_path / f"r.{format}"
    problems, total = (BAD_PARQUET, 4) if format == "parquet" else BAD[format][1:]
    bad_parquet(path) if format == "parquet" else path.write_bytes(BAD[format][0])
    out, bad = tmp_path / "o.jsonl", tmp_path / "bad.jsonl"
    result = radrl("label", path, "-o", out, "--skip-bad", bad, "--id", "id", "--labels-only")
    assert result.exit_code == 0
    good = total - len(problems)
    assert (
        result.stderr
        == f"labelled {good} reports, 1 of them no report -> {out}; {len(problems)} bad rows -> {bad}\n"
    )
    listed = read(bad)
    lines = [f" (line {row['line']})" if row["line"] else "" for row in listed]
    assert [
        f"row {row['row']}{line}: {row['problem']}" for row, line in zip(listed, lines, strict=True)
    ] == problems
    left = {str(row["id"]) for row in read(out)} | {str(row["row"]) for row in listed}
    assert left == {str(i) for i in range(1, total + 1)}
    if format == "jsonl":
        assert [row.get("id") for row in listed] == [2, 3, 4, None, None, None, None, 9]


def test_a_long_list_of_bad_rows_is_cut(radrl, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("id,report\n1,No edema.\n" + "2\n" * 1500)
    lines = radrl("label", path).stderr.splitlines()
    assert lines[0] == "Error: r.csv: 1,500 of 1,501 rows cannot be used:"
    assert lines[-2] == "  and 1,490 more"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.csv", b"report\n", "r.csv has no rows"),
        ("r.jsonl", b"\n", "r.jsonl has no rows"),
        ("r.csv", b"", "has no header row"),
        ("r.csv", b'report\n"open\n', "a quote that opens in the row at line 2 is not closed"),
        ("r.csv.gz", b"report\nx\n", "is no gzip file, or damaged"),
        ("r.csv.gz", CUT_SHORT, "is no gzip file, or damaged"),
        ("r.parquet", b"PAR1", "is no Parquet file, or damaged"),
        ("r.jsonl", b'["x"]\n', "All are bad: is it the right column, format and encoding?"),
    ],
)
def test_files_that_cannot_be_read(radrl, tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    result = radrl("label", path, "--skip-bad", tmp_path / "bad.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert [one.name for one in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.parquet"])
def test_a_column_that_is_not_there(radrl, table, name):
    result = radrl("label", table(ROWS, name), "--column", "findings")
    assert result.exit_code == 2
    assert "for --column: there is no column 'findings', there are study, report" in result.stderr
    result = radrl("label", table(ROWS, name), "--id", "uid")
    assert "for --id: there is no column 'uid'" in result.stderr


def test_a_column_of_another_type(radrl, tmp_path):
    pq.write_table(pa.table({"report": [1, 2]}), tmp_path / "r.parquet")
    result = radrl("label", tmp_path / "r.parquet")
    assert result.exit_code == 2
    assert "column 'report' holds int64, not text" in result.stderr


def test_encodings(radrl, tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes("report\nOpacité. Pas d'edema.\n".encode("latin-1"))
    assert "row 1 (line 2): bytes that are no UTF-8" in radrl("label", path).stderr
    assert "Opacité" in radrl("label", path, "--encoding", "latin-1").stdout
    assert "Python knows no 'klingon'" in radrl("label", path, "--encoding", "klingon").stderr
    path.write_text("report\nOpacité.\n", encoding="utf-8-sig")
    assert radrl("label", path).stdout.startswith("report,Enlarged")


def test_outputs_that_are_there_are_kept(radrl, table, tmp_path):
    path, out = table(ROWS, "r.csv"), tmp_path / "o.csv"
    out.write_text("precious")
    result = radrl("label", path, "-o", out)
    assert result.exit_code == 2
    assert f"for -o: {out} is there; --force replaces it" in result.stderr
    assert out.read_text() == "precious"
    assert radrl("label", path, "-o", out, "--force").exit_code == 0
    assert radrl("label", out, "-o", out, "--force", "--prefix", "again ").exit_code == 0
    assert out.read_text().startswith("study,report,Enlarged")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "{0}/none/o.csv"], "there is no folder"),
        (["-o", "{0}/o.xlsx"], "ends in none of .csv"),
        (["-o", "{0}/o.csv", "--skip-bad", "{0}/o.csv"], "is named twice"),
        (["-o", "{0}/o.csv", "--to", "csv"], "the ending of -o says its format"),
    ],
)
def test_outputs_that_cannot_be(radrl, table, tmp_path, options, message):
    result = radrl("label", table(ROWS, "r.csv"), *(one.format(tmp_path) for one in options))
    assert result.exit_code == 2
    assert message in result.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["r.csv"]


def test_an_unknown_ending(radrl, tmp_path):
    path = tmp_path / "r.json"
    path.write_text("[]")
    result = radrl("label", path)
    assert result.exit_code == 2
    assert "`jq -c '.[]'` makes JSON lines" in result.stderr


@pytest.mark.parametrize("name", ["o.csv", "o.jsonl", "o.csv.gz", "o.parquet"])
def test_the_same_file_gives_the_same_bytes(radrl, table, tmp_path, name):
    path = table(ROWS * 30, "r.csv")
    radrl("label", path, "-o", tmp_path / name, "--batch-rows", "7")
    radrl("label", path, "-o", tmp_path / f"again-{name}", "--batch-rows", "7")
    assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()


class Counting:
    name = "rules"

    def __init__(self):
        self.calls = []

    def label(self, reports):
        self.calls.append(len(reports))
        return np.zeros((len(reports), 14), np.int8)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_memory_does_not_grow_with_the_file(radrl, tmp_path, monkeypatch, ending):
    labeler = Counting()
    monkeypatch.setattr("radrl.commands.label.build_labeler", lambda *_: labeler)
    path = tmp_path / f"r{ending}"
    write_long(path, rows=12_000, size=2000)  # 24 MB in all
    tracemalloc.start()
    result = radrl("label", path, "-o", tmp_path / f"o{ending}", "--batch-rows", "100")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.exit_code == 0
    assert (max(labeler.calls), sum(labeler.calls)) == (100, 12_000)
    assert peak < 8e6


def write_long(path, rows, size):
    text = "x" * size
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"report": [text] * rows}), path, row_group_size=500, use_dictionary=False)
    else:
        header, line = ("", json.dumps({"report": text})) if path.suffix == ".jsonl" else ("report\n", text)
        path.write_text(header + f"{line}\n" * rows)
