"""`radrl rows`: figures by hand, and those of `radrl score` on the same pairs."""

import csv
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from radrl.data import corpus
from radrl.data.admission import CORPUS

ROOT = Path(__file__).parents[2]
METRICS = ("ce_rules_micro14_f1", "ce_rules_sample14_f1", "nlg_bleu2", "nlg_rougel", "green_rules")
REFERENCES = {
    "s50000001": ("p1", "There is a small left pleural effusion."),
    "s50000002": ("p1", "There is mild cardiomegaly. No pneumothorax."),
    "s50000003": ("p2", "The lungs are clear. There is a right pleural effusion."),
    "s50000004": ("p3", "There is pulmonary edema."),
    "s50000005": ("p4", "A left pneumothorax is present."),
}
WRITTEN = {
    "50000003": "There is a right pleural effusion. There is mild cardiomegaly.",
    "50000001": "There is a small left pleural effusion.",
    "50000004": "/",
    "50000002": "There is mild cardiomegaly.",
    "50000077": "There is pneumonia.",
}
"""In another order, one study fewer, one of another data set, and one that the system left out."""


@pytest.fixture
def change():
    """Sets keys of the project's params.yaml, by dots."""

    def to(**given):
        path = Path("params.yaml")
        values = yaml.safe_load(path.read_text())
        for dotted, value in given.items():
            *sections, key = dotted.split("__")
            section = values
            for name in sections:
                section = section[name]
            section[key] = value
        path.write_text(yaml.safe_dump(values, sort_keys=False))

    return to


@pytest.fixture
def project(tmp_path, monkeypatch, change):
    """A project with a corpus of five studies, and metrics that need no model."""
    folder = tmp_path / "project"
    for made in ("conf/recipes", "conf/base/systems", "data/02_intermediate/corpus"):
        (folder / made).mkdir(parents=True)
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, folder)
    monkeypatch.chdir(folder)
    change(
        compare__metrics=list(METRICS),
        compare__bootstrap__resamples=50,
        eval__labelers=["rules"],
        eval__headline=[],
    )
    write_corpus(folder, REFERENCES)
    return folder


def write_corpus(folder, references, **other):
    rows = [
        {
            "sample_id": f"{study}-{place}",
            "study_id": study,
            "patient_id": patient,
            "split": "test",
            "views": ["frontal"],
            "images": [b""],
            "findings": text,
            "impression": None,
            "report": other.get(study, text),
            "label_text": text,
            "gold": None,
            "source_keys": [study],
            "digest": bytes(32),
        }
        for place, (study, (patient, text)) in enumerate(references.items())
    ]
    corpus.write(pa.Table.from_pylist(rows, CORPUS), folder / "data/02_intermediate/corpus/0.arrow")


@pytest.fixture
def theirs(tmp_path):
    """A table as CXRMate-2's authors release theirs."""
    path = tmp_path / "theirs.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["findings", "impression", "study_id"])
        writer.writerows([text, "No change.", study] for study, text in WRITTEN.items())
    return path


def figures(file="cxrmate-2.json"):
    found = json.loads((Path("conf/base/systems") / file).read_text())
    return found, {name: one["value"] for name, one in found["metrics"].items()}


def test_figures_by_hand_and_what_is_said(radrl, project, theirs):
    """Of five references four meet; labels of the 14 that the rules read, positive alone:

    effusion / effusion; cardiomegaly / cardiomegaly; effusion / effusion and cardiomegaly; edema / nothing.
    "The lungs are clear" beside an effusion is no No Finding. So three are right, one false, one missed.
    """
    result = radrl("rows", theirs, "--name", "CXRMate-2", "--unmatched", "unmatched.csv")
    assert result.exit_code == 0, result.output
    found, values = figures()
    assert {*METRICS} <= values.keys()
    assert values["ce_rules_micro14_f1"] == pytest.approx(2 * 3 / (2 * 3 + 1 + 1))
    assert values["ce_rules_sample14_f1"] == pytest.approx((1 + 1 + 2 / 3 + 0) / 4)
    assert found["source"]["reports"] == 4
    assert found["source"]["patients"] == 3
    assert (found["source"]["unreported"], found["source"]["elsewhere"], found["source"]["empty"]) == (
        1,
        1,
        1,
    )
    assert (
        "4 of 5 references have a released report, and 4 of 5 released reports a reference" in result.stderr
    )
    assert "references without a released report: 1 (s50000005)" in result.stderr
    assert "released reports of studies that the references have not: 1 (50000077)" in result.stderr
    assert "scored as empty: 1 (50000004)" in result.stderr
    assert "systems: {CXRMate-2: cxrmate-2.json}" in result.stdout
    with Path("unmatched.csv").open() as stream:
        assert list(csv.reader(stream)) == [
            ["side", "study", "why"],
            ["reference", "s50000005", "no released report"],
            ["released", "50000077", "no reference"],
        ]
    texts = Path("conf/base/systems/cxrmate-2.json").read_text()
    assert not any(study in texts for study in (*REFERENCES, *WRITTEN))
    assert "effusion." not in texts


def test_figures_and_intervals_are_those_of_score_on_the_same_pairs(radrl, project, theirs, tmp_path):
    pairs = tmp_path / "pairs.csv"
    result = radrl("rows", theirs, "--name", "CXRMate-2", "--pairs", pairs)
    assert result.exit_code == 0, result.output
    with pairs.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["study_id"] for row in rows] == ["s50000001", "s50000002", "s50000003", "s50000004"]
    assert [row["hypothesis"] for row in rows] == [
        WRITTEN["50000001"], WRITTEN["50000002"], WRITTEN["50000003"], "",
    ]  # fmt: skip
    asked = ("--metrics", ",".join(METRICS), "--patient", "patient", "--bootstrap", "50", "--no-meteor")
    scored = radrl("score", pairs, *asked, "--settings", "params.yaml", "--json", "-")
    assert scored.exit_code == 0, scored.output
    own, others = figures()[0], json.loads(scored.stdout)
    assert own["metrics"] == others["metrics"]
    assert own["per_label"] == others["per_label"]


def test_the_row_that_is_written_is_one_that_the_comparison_takes(radrl, project, theirs, change):
    assert radrl("rows", theirs, "--name", "CXRMate-2", "-q").exit_code == 0
    change(compare__systems={"CXRMate-2": "cxrmate-2.json"})
    from radrl.params.schema import read
    from radrl.pipelines.compare.rows import read_systems, system_lines

    settings = read(Path("params.yaml")).compare.model_dump()
    systems = read_systems(Path("conf/base/systems"), settings)
    lines = system_lines(systems, settings["metrics"])
    assert [line["metric"] for line in lines] == list(METRICS)
    assert all(line["low"] <= line["value"] <= line["high"] for line in lines)
    again = radrl("rows", theirs, "--name", "CXRMate-2", "--force")
    assert "params.yaml names the row" in again.stdout


def test_texts_are_cleaned_and_cut_as_the_arms_are(radrl, project, theirs, change):
    """R2Gen's small letters, at most four words: "there is a small" of the first pair, and so on."""
    change(eval__cleaning="r2gen_mimic", eval__max_report_words=4)
    assert radrl("rows", theirs, "--name", "Theirs", "--pairs", "pairs.jsonl").exit_code == 0
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()]
    assert rows[0]["hypothesis"] == "there is a small"
    assert rows[1]["reference"] == "there is mild cardiomegaly"
    assert rows[1]["reference_label_text"] == REFERENCES["s50000002"][1]
    assert figures("theirs.json")[0]["settings"]["texts"] == {
        "cleaning": "r2gen_mimic",
        "labels_of": "original",
        "max_report_words": 4,
    }


def test_films_of_one_study_each_stand_beside_its_report(radrl, project, theirs):
    films = {"s50000001": REFERENCES["s50000001"], "s50000002": REFERENCES["s50000002"]}
    write_corpus(project, films)
    more = project / "data/02_intermediate/corpus/1.arrow"
    (project / "data/02_intermediate/corpus/0.arrow").rename(more)
    write_corpus(project, films)
    result = radrl("rows", theirs, "--name", "Theirs")
    assert result.exit_code == 0, result.output
    assert "4 of 4 references of 2 studies have a released report" in result.stderr
    assert figures("theirs.json")[0]["source"]["reports"] == 4


def test_rexranks_json_on_both_sides(radrl, project, tmp_path):
    entries = {
        study: {
            "section_findings": REFERENCES[f"s{study}"][1],
            "section_impression": float("nan"),
            "subject_id": int(study) % 2,
            "model_prediction": f"Findings: {WRITTEN[study]} Impression: None",
        }
        for study in ("50000001", "50000002")
    }
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(entries))
    result = radrl("rows", path, "--name", "Med Versa", "--references", path, "--metrics", METRICS[0])
    assert result.exit_code == 0, result.output
    found, values = figures("med-versa.json")
    assert values == {METRICS[0]: 1.0}
    assert found["source"]["references"]["file"] == "predictions.json"
    assert found["source"]["patients"] == 2


def test_references_of_a_table_without_patients(radrl, project, theirs, table):
    ours = table([{"accession": study, "text": text} for study, (_, text) in REFERENCES.items()], "ours.csv")
    columns = ("--reference-column", "study=accession", "--reference-column", "report=text")
    result = radrl("rows", theirs, "--name", "Theirs", "--references", ours, *columns)
    assert result.exit_code == 0, result.output
    assert "no patients in the references" in result.stderr
    assert figures("theirs.json")[0]["source"]["patients"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--name", "sft"), "an arm is called so"),
        (("--name", "a/b"), "a row's name is letters, digits"),
        (("--name", "A", "--file", "a.csv"), "is no name of a JSON file"),
        (("--name", "A", "--column", "reports=x"), "'reports' is no key; did you mean 'report'"),
        (("--name", "A", "--column", "report=x"), "theirs.csv row 1 (line 2): no column 'x' (report)"),
        (("--name", "A", "--reference-column", "report=x"), "is for --references, a table"),
        (("--name", "A", "--target", "impression"), "the corpus has ingest.target, findings"),
        (("--name", "A", "--metrics", "nlg_blue4"), "no metric is 'nlg_blue4'"),
        (("--name", "A", "--metrics", "ce_chexbert_compact_micro14_f1"), "radrl repro labeler"),
        (("--name", "A", "--pairs", "pairs.txt"), "ends in none of"),
    ],
)
def test_what_cannot_be_had_is_refused_before_anything_is_written(
    radrl, project, theirs, change, options, said
):
    if "compact" in " ".join(options):
        change(eval__labelers=["rules", "chexbert_compact"])
    result = radrl("rows", theirs, *options)
    assert result.exit_code in (1, 2)
    assert said in " ".join(result.output.split())
    assert not list(Path("conf/base/systems").iterdir())


def test_a_labeler_with_a_model_is_the_one_that_the_stage_left(radrl, project, theirs, chexbert, change):
    change(eval__labelers=["rules", "chexbert_compact"])
    shutil.copytree(chexbert / "chexbert", "data/06_models/labeler/chexbert_compact")
    metric = "ce_chexbert_compact_micro14_f1"
    asked = ("--name", "A", "--pairs", "pairs.csv", "--metrics", metric)
    result = radrl("rows", theirs, *asked)
    assert result.exit_code == 0, result.output
    found, values = figures("a.json")
    assert list(found["per_label"]) == ["rules", "chexbert_compact"]
    models = ("--labeler", "chexbert_compact", "--model", "data/06_models/labeler")
    scored = radrl("score", "pairs.csv", *models, "--metrics", metric, "--json", "-")
    assert values[metric] == json.loads(scored.stdout)["metrics"][metric]["value"]


def test_a_study_that_stands_twice_is_refused(radrl, project, theirs):
    with theirs.open("a") as stream:
        stream.write("Again.,,s50000001\n")
    result = radrl("rows", theirs, "--name", "A")
    assert result.exit_code == 1
    assert "row 6: study 's50000001' (there as '50000001') stands in row 2 already" in result.output
    assert not list(Path("conf/base/systems").iterdir())


def test_a_file_that_is_there_is_not_replaced_unasked(radrl, project, theirs):
    Path("conf/base/systems/a.json").write_text("{}")
    result = radrl("rows", theirs, "--name", "A")
    assert result.exit_code == 2
    assert "a.json is there; --force replaces it" in " ".join(result.output.split())
    assert Path("conf/base/systems/a.json").read_text() == "{}"


def test_without_a_corpus_or_a_project(radrl, project, theirs, tmp_path, monkeypatch):
    shutil.rmtree("data")
    result = radrl("rows", theirs, "--name", "A")
    assert "has no corpus: run `radrl repro ingest`, or give a file of references" in result.output
    monkeypatch.chdir(tmp_path)
    assert "is not within the project" in radrl("rows", theirs, "--name", "A").output
