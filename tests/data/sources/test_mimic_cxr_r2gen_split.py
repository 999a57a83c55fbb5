"""R2Gen's split and texts rebuilt without its annotation.json: which samples, what they say, what differs."""

import csv
import logging
from pathlib import Path

import mimic_tree as tree
import pytest
import yaml
from click.testing import CliRunner

from radrl.commands import doctor
from radrl.data.quarantine import Refusal
from radrl.data.sources import mimic_cxr
from radrl.data.sources.mimic_cxr import r2gen_split
from radrl.data.sources.mimic_cxr.r2gen_split import Comparison, Difference, R2GenRules, check_counts
from radrl.data.sources.mimic_cxr.tables import SourceError
from radrl.data.study import Record

ROOT = Path(__file__).resolve().parents[3]
NUMBERED = min(r2gen_split.NUMBERED_STUDIES)


def report(*sections: str) -> str:
    """A report as its file is laid out: each line behind one blank, sections apart by a line of one blank."""
    return " FINAL REPORT\n " + "\n \n ".join(sections) + "\n"


FOUND = tree.Study(10000032, 50414267, ("PA", "LATERAL"), "train")  # its report has FINDINGS
BARE = tree.Study(10000032, 53189527, ("AP",), "train", report("COMPARISON: None.", "The lungs are clear."))
CONCLUDED = tree.Study(10000764, 57375967, ("AP", "LATERAL"), "validate", report("IMPRESSION: Clear."))
VALIDATED = tree.Study(10000764, 57375968, ("PA",), "validate", report("CHEST, TWO VIEWS: Large heart."))
BY_NUMBER = tree.Study(11000048, NUMBERED, ("AP",), "test", report("FINDINGS: Small effusion."))
TESTED = tree.Study(
    11000048, 59999999, ("LL", ""), "test", report("FINDINGS: Two\n lines.", "IMPRESSION: A.")
)
STUDIES = (FOUND, BARE, CONCLUDED, VALIDATED, BY_NUMBER, TESTED)
SAMPLES = {"train": 2, "val": 1, "test": 2}
FILMS = {"train": 3, "val": 3, "test": 3}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree in the shape of the release, its reports in the zip file, and nothing of R2Gen's."""
    tree.write_tables(tmp_path, STUDIES)
    tree.write_zip(tmp_path / "mimic-cxr-reports.zip", STUDIES)
    tree.write_films(tmp_path, STUDIES)
    return tmp_path


def records(root: Path, **options):
    source = mimic_cxr.read(root=root, **{"split": "r2gen", "text": "r2gen", **options})
    read = list(source.records)
    assert len(read) == source.films
    return read


def samples(read) -> list[tuple[str, str, str | None]]:
    return [(r.study_id, r.split, r.findings) for r in read if isinstance(r, Record)]


REBUILT = [
    *[("s50414267", "train", "The lungs are clear.")] * 2,
    ("s57375968", "validate", "Large heart."),
    *[("s59999999", "test", "Two\n lines.")] * 2,
]


def test_samples_are_the_films_of_the_official_split_whose_study_has_findings(root):
    read = records(root)
    assert samples(read) == REBUILT
    assert {(r.reason, r.study_id) for r in read if isinstance(r, Refusal)} == {
        ("left_out_split", f"s{study.study}") for study in (BARE, CONCLUDED, BY_NUMBER)
    }
    assert [r.impression for r in read if isinstance(r, Record)] == [None] * 5


def test_folders_of_texts_give_what_the_zip_file_gives(root):
    packed = records(root)
    (root / "mimic-cxr-reports.zip").unlink()
    tree.write_reports(root, STUDIES)
    assert records(root) == packed == records(root)


def test_each_report_is_opened_once(root, monkeypatch):
    opened = []
    reports = mimic_cxr.open_reports(root)
    read = reports.text
    monkeypatch.setattr(reports, "text", lambda *key: opened.append(key) or read(*key))
    monkeypatch.setattr(mimic_cxr, "open_reports", lambda path: reports)
    records(root, text="files")
    assert sorted(opened) == sorted((study.subject, study.study) for study in STUDIES)


def test_its_split_with_this_readers_sections(root):
    read = [r for r in records(root, text="files") if isinstance(r, Record)]
    assert [(r.study_id, r.findings, r.impression) for r in read][-1] == ("s59999999", "Two lines.", "A.")
    assert len(read) == 5


def test_its_texts_with_another_split(root):
    read = records(root, split="official")
    assert samples(read)[2:4] == [("s53189527", "train", None), ("s57375967", "validate", None)]
    assert not [r for r in read if isinstance(r, Refusal)]  # no findings: ingest's `empty_report`
    assert {r.split for r in records(root, split="drawn")} == {None}


@pytest.mark.parametrize(
    ("rules", "more"),
    [
        ({"numbered_studies": "read"}, {BY_NUMBER.study}),
        ({"sections": "files"}, {BARE.study}),
        ({"sections": "files", "numbered_studies": "read"}, {BARE.study, BY_NUMBER.study}),
    ],
)
def test_rules_that_let_more_studies_in(root, rules, more):
    usual = {study for study, *_ in REBUILT}
    got = {study for study, *_ in samples(records(root, r2gen=R2GenRules(**rules)))}
    assert got == usual | {f"s{study}" for study in more}


def test_least_words(root):
    # "Large heart." and "Two\n lines." have two, "The lungs are clear." four
    assert samples(records(root, r2gen=R2GenRules(min_words=3))) == REBUILT[:2]


def test_the_split_table_and_the_reports_are_needed(root):
    (root / "mimic-cxr-2.0.0-split.csv.gz").rename(root / "kept")
    with pytest.raises(SourceError, match=r"no mimic-cxr-2\.1\.0-split.*which split: r2gen needs"):
        records(root)
    (root / "kept").rename(root / "mimic-cxr-2.0.0-split.csv.gz")
    (root / "mimic-cxr-reports.zip").unlink()
    with pytest.raises(SourceError, match="no report texts in"):
        records(root)


def test_a_report_that_is_not_there_is_quarantined_not_left_out(root):
    tree.write_zip(root / "mimic-cxr-reports.zip", [study for study in STUDIES if study is not TESTED])
    told = [r.reason for r in records(root) if isinstance(r, Refusal) and r.study_id == "s59999999"]
    assert told == ["missing_report"] * 2


def test_films_of_a_view_do_not_change_what_is_counted(root, monkeypatch, caplog):
    monkeypatch.setattr(r2gen_split, "OFFICIAL_FILMS", FILMS)
    monkeypatch.setattr(r2gen_split, "SAMPLES", SAMPLES)
    caplog.set_level(logging.INFO)
    assert len(samples(records(root, view_positions=["PA"]))) == 2
    assert "2 / 1 / 2, as R2Gen has" in caplog.text


def test_numbers_that_are_not_r2gens_are_warned_of(root, monkeypatch, caplog):
    monkeypatch.setattr(r2gen_split, "OFFICIAL_FILMS", FILMS)
    records(root)
    assert caplog.record_tuples[-1][1] == logging.WARNING
    assert "2 / 1 / 2, where R2Gen has 270,790 / 2,130 / 3,858" in caplog.text


def test_counts_are_checked_where_the_tables_are_whole():
    whole = {"train": 368_960, "val": 2_991, "test": 5_159}
    assert check_counts({"train": 270_790, "val": 2_130, "test": 3_858}, whole)[0] is True
    same, told = check_counts({"train": 270_790, "val": 2_130, "test": 3_857}, whole)
    assert same is False
    assert told.startswith("270,790 / 2,130 / 3,857, where R2Gen has 270,790")
    same, told = check_counts({"train": 5}, {"train": 7})
    assert same is None
    assert (
        told
        == "5 / 0 / 0 of 7 / 0 / 0 films; not checked, since the official split has 368,960 / 2,991 / 5,159"
    )


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        (report("FINDINGS: Clear.", "IMPRESSION: None."), "Clear."),
        (report("FINDINGS AND IMPRESSION: Clear."), None),
        (
            report("FINDINGS:\n IMPRESSION: Clear."),
            "IMPRESSION: Clear.",
        ),  # the line after a bare header is text
        (report("FINDINGS: First.", "FINDINGS: Last."), "Last."),
        (report("FINDINGS: First.", "FINDINGS: ", "IMPRESSION: None."), "First."),
        (report("FINIDNGS: Clear."), "Clear."),
        (report("PORTABLE AP CHEST: Clear.", "IMPRESSION: None."), "Clear."),
        (report("COMPARISON CHEST: None.", "IMPRESSION: None."), None),
        (report("FINDINGS: Clear.\n LUNGS: Clear."), "Clear."),  # an unknown header ends it
        (report("Findings: Clear."), None),
        (report("FINDINGS: Clear.").replace("\n ", "\n"), None),  # a header stands behind one blank
        (report("FINDINGS: Clear.").replace("\n", "\r\n"), "Clear."),
        ("FINDINGS: Clear.", None),
        ("", None),
    ],
)
def test_findings_as_mit_lcps_scripts_cut_them(text, findings):
    assert r2gen_split.mit_lcp_findings(text) == findings


def annotation(root: Path, **changed) -> Path:
    """R2Gen's file of the tree's samples, some of them changed."""
    splits = {
        "train": tree.entries(FOUND, "The  lungs\n are clear."),  # the same words after the cleaning
        "val": tree.entries(VALIDATED, "Large heart."),
        "test": tree.entries(TESTED, "Two\n lines."),
        **changed,
    }
    return tree.write_annotation(root / "annotation.json", splits)


def compared(root: Path, path: Path) -> tuple[list[Difference], Comparison]:
    options = {"root": root, "split": "r2gen", "text": "r2gen"}
    rebuilt, file = mimic_cxr.read(**options), mimic_cxr.read(**options, annotation=path)
    comparison = Comparison(rebuilt.records, file.records)
    return list(comparison.differences()), comparison


def test_the_same_samples_differ_in_nothing(root):
    differences, comparison = compared(root, annotation(root))
    assert differences == []
    assert comparison.samples_rebuilt == comparison.samples_file == SAMPLES


def test_differences_by_study(root):
    unknown = tree.Study(10000032, 59999998, ("PA",))
    path = annotation(
        root,
        train=[
            *tree.entries(FOUND, "Other words."),
            *tree.entries(BARE, "Clear."),
            *tree.entries(unknown, "X"),
        ],
        val=tree.entries(TESTED, "Two lines.")[:1],
        test=[],
    )
    differences, comparison = compared(root, path)
    one = {"films_rebuilt": 2, "films_file": 2, "films_common": 2}
    assert differences == [
        # "the lungs are clear ." has five words, "other words ." three
        Difference(
            "s50414267", "p10000032", "train", "train", **one, same_text=False, words_rebuilt=5, words_file=3
        ),
        Difference("s53189527", "p10000032", "", "train", films_file=1, words_file=2),
        Difference("s57375968", "p10000764", "val", "", films_rebuilt=1, words_rebuilt=3),
        Difference(
            *("s59999999", "p11000048", "test", "val"),
            **one | {"films_file": 1, "films_common": 1},
            same_text=True,
            words_rebuilt=3,
            words_file=3,
        ),
        Difference("s59999998", films_in_no_table=1),
    ]
    assert comparison.samples_file == {"train": 3, "val": 1}


def recipe(root: Path) -> str:
    """The shipped recipe on the tree."""
    params = yaml.safe_load((ROOT / "conf/recipes/deer-mimic_cxr.yaml").read_text())
    own = params["ingest"]["mimic_cxr"]
    assert (own["split"], own["text"], own["annotation"]) == ("r2gen", "r2gen", None)
    own |= {"root": str(root), "reports": None}
    (root / "params.yaml").write_text(yaml.safe_dump(params))
    return str(root / "params.yaml")


def told_by_doctor(*options: str) -> str:
    return (
        CliRunner()
        .invoke(doctor.command, [*options, "--no-hash", "--r2gen-split"], env={"COLUMNS": "400"})
        .stdout
    )


def test_doctor_counts(root, monkeypatch):
    monkeypatch.chdir(ROOT)
    told = told_by_doctor(recipe(root))
    assert "2 / 1 / 2 samples, where R2Gen has 270,790 / 2,130 / 3,858" in " ".join(told.split())


def test_doctor_writes_what_differs_by_study(root, monkeypatch):
    monkeypatch.chdir(ROOT)
    path, output = annotation(root, test=[]), root / "differing.csv"
    told = told_by_doctor(recipe(root), "--annotation", str(path), "-o", str(output))
    assert "annotation.json has 2 / 1 / 0, and 1 studies differ" in " ".join(told.split())
    rows = list(csv.DictReader(output.open(newline="")))
    assert [(row["study_id"], row["split_rebuilt"], row["films_rebuilt"]) for row in rows] == [
        ("s59999999", "test", "2")
    ]
    assert "lines" not in output.read_text()


def test_doctor_says_what_is_wrong_with_the_source(root, monkeypatch):
    monkeypatch.chdir(ROOT)
    params = recipe(root)
    (root / "mimic-cxr-2.0.0-split.csv.gz").unlink()
    assert "which split: r2gen needs" in " ".join(told_by_doctor(params).split())
    assert "ingest.source is phantom" in told_by_doctor("params.yaml")


def test_doctor_wants_a_file_to_compare_with():
    told = CliRunner().invoke(doctor.command, ["--r2gen-split", "-o", "x.csv"])
    assert (told.exit_code, "--output with --annotation" in told.output) == (2, True)
