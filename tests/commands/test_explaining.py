"""`radrl score --explain` and --weights: where weighted_findings comes from, and what a user makes of it."""

import csv
import io
import json

import pytest

ROWS = [
    {
        "uid": "a",
        "reference": "Small left pleural effusion. The heart is moderately enlarged.",
        "hypothesis": "Small right pleural effusion. There is a calcified granuloma.",
    },
    {"uid": "b", "reference": "No acute disease.", "hypothesis": "The lungs are clear."},
]
ASKED = ("--metrics", "weighted_findings", "--id", "uid")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_row_says_finding_cost_and_words(radrl, table, read, tmp_path, ending):
    out = tmp_path / f"why.{ending}"
    result = radrl("score", table(ROWS, "r.csv"), *ASKED, "--explain", out)
    assert result.exit_code == 0, result.stderr
    rows = read(out)
    assert [(row["uid"], row["kind"], row["finding"]) for row in rows] == [
        ("a", "matched", "left pleural effusion"),
        ("a", "missed", "cardiomegaly"),
        ("a", "false", "calcified granuloma"),
    ]
    assert [float(row["cost"]) for row in rows] == [0.375, 0.2, 0.05]
    assert rows[0]["generated_as"] == ""
    assert rows[2]["hypothesis_words"] == "calcified granuloma"
    # both effusions at 0.5, the heart at 0.2, the granuloma at 0.05
    assert float(rows[0]["score"]) == pytest.approx(1 - 0.625 / 2.25, abs=1e-6)


def test_in_words(radrl, table, tmp_path):
    out = tmp_path / "why.txt"
    radrl("score", table(ROWS, "r.csv"), *ASKED, "--explain", out)
    said = out.read_text()
    assert said.startswith("row 1, uid a: score 0.722: missed 0.200, false 0.050, inexact 0.375")
    assert "matched  0.375  left pleural effusion (side 0.375)  reference: “pleural effusion” |" in said
    assert "row 2, uid b: score 1.000" in said
    shown = radrl("score", table(ROWS, "r.csv"), *ASKED, "--explain", "-").stdout
    assert shown.startswith(said)


def test_weights_of_ones_own_change_the_score_and_stand_in_the_record(radrl, table, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("concept,when,weight,reason\ngranuloma,,urgent,endemic here\n")
    result = radrl("score", table(ROWS, "r.csv"), *ASKED, "--weights", mine, "--json", "-")
    said = json.loads(result.stdout)
    assert said["metrics"]["weighted_findings_false_cost"]["value"] == 0.5  # of two reports, one
    assert said["settings"]["weighted_findings"]["weights"] == "mine.csv"
    assert str(tmp_path) not in json.dumps(said["settings"])


def test_listed_weights_are_a_file_of_weights(radrl, table, tmp_path):
    listed = radrl("score", "--list-weights").stdout
    assert {"concept", "when", "weight", "reason"} == set(next(csv.DictReader(io.StringIO(listed))))
    (tmp_path / "all.csv").write_text(listed)
    file = table(ROWS, "r.csv")
    shipped = json.loads(radrl("score", file, *ASKED, "--json", "-").stdout)["metrics"]
    same = radrl("score", file, *ASKED, "--weights", tmp_path / "all.csv", "--json", "-").stdout
    assert json.loads(same)["metrics"] == shipped


def test_what_cannot_be_explained_is_refused(radrl, table, tmp_path):
    file = table(ROWS, "r.csv")
    result = radrl("score", file, "--metrics", "green_rules", "--explain", tmp_path / "why.csv")
    assert result.exit_code == 2
    assert "--metrics or eval.families leave out" in result.stderr
    result = radrl("score", file, *ASKED, "--explain", "-", "--json", "-")
    assert "cannot both go to standard output" in result.stderr
    (tmp_path / "bad.csv").write_text("concept,weight\nnodul,1\n")
    result = radrl("score", file, *ASKED, "--weights", tmp_path / "bad.csv")
    assert result.exit_code == 1
    assert "did you mean 'nodule'" in result.stderr
