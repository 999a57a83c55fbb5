import json
import sys
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import score_memory

from radrl.evaluation import join
from radrl.evaluation.bootstrap import bootstrap_intervals
from radrl.evaluation.clinical_efficacy import clinical_efficacy
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import OBSERVATIONS
from radrl.parts.builtin import BUILTIN
from radrl.parts.section import Nothing, takes
from radrl.scoring import Scores, ScoringError, means_of
from radrl.scoring.clinical import ClinicalEfficacy
from radrl.scoring.nlg import nlg_scores

REFERENCES = (
    "Mild cardiomegaly. No effusion or pneumothorax.",
    "The lungs are clear. No effusion.",
    "Possible pneumonia in the left base. No edema.",
    "Right pleural effusion with atelectasis.",
    "No acute cardiopulmonary abnormality.",
    "Stable cardiomegaly. Small left pleural effusion.",
)
HYPOTHESES = (
    "Moderate cardiomegaly. No effusion.",
    "The lungs are clear.",
    "No pneumonia. No edema.",
    "Right pleural effusion.",
    "",
    "Cardiomegaly is stable. No effusion.",
)
PATIENTS = ("p1", "p1", "p2", "p3", "p3", "p4")
ROWS = [
    {"uid": f"u{i}", "who": who, "reference": truth, "hypothesis": found}
    for i, (who, truth, found) in enumerate(zip(PATIENTS, REFERENCES, HYPOTHESES, strict=True))
]
QUICK = ("--metrics", "ce,nlg", "--no-meteor")


def scored(radrl, path, *options):
    result = radrl("score", path, *QUICK, "--json", "-", *options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def directly():
    labeler = RulesLabeler()
    return (
        ClinicalEfficacy([labeler]).score(REFERENCES, HYPOTHESES),
        nlg_scores(REFERENCES, HYPOTHESES, preparation="basic", meteor=False),
        labeler.label(REFERENCES),
        labeler.label(HYPOTHESES),
    )


@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "r.jsonl", "r.parquet"])
def test_figures_are_those_of_the_functions(radrl, table, name):
    said = scored(radrl, table(ROWS, name))
    ce, nlg, truth, found = directly()
    values = {metric: one["value"] for metric, one in said["metrics"].items()}
    assert values == ce.corpus | nlg.corpus
    assert said["skipped"] == {"nlg_meteor": "skipped (not asked for)"}
    rows = clinical_efficacy(truth, found, labeler="rules").per_label
    assert [row["f1"] for row in said["per_label"]["rules"]] == [row.f1 for row in rows]
    assert (said["source"]["reports"], said["source"]["empty"], said["source"]["bad_rows"]) == (6, 1, 0)


@pytest.mark.parametrize("patients", [None, PATIENTS])
def test_intervals_are_those_of_the_bootstrap(radrl, table, patients):
    own = ["--patient", "who"] if patients else []
    said = scored(
        radrl, table(ROWS, "r.csv"), "--bootstrap", "50", "--seed", "3", "--confidence", "0.9", *own
    )
    ce, nlg, *_ = directly()
    expected = bootstrap_intervals(
        join(ce.summed, nlg.summed), patients or list("123456"), resamples=50, level=0.9, seed=3
    )
    for name, interval in expected.items():
        assert said["metrics"][name]["low"] == pytest.approx(interval.low, nan_ok=True)
        assert said["metrics"][name]["high"] == pytest.approx(interval.high, nan_ok=True)
    assert said["settings"]["bootstrap"] == {"resamples": 50, "confidence": 0.9, "seed": 3, "method": "bca"}
    assert said["source"]["patients"] == (4 if patients else None)


def test_every_labeler_has_metrics_of_its_own_name(radrl, table, chexbert, tmp_path):
    readers = ("--labeler", "rules", "--labeler", "chexbert", "--model", chexbert)
    options = (*readers, "--metrics", "ce_*_macro14_f1", "--json", "-", "--per-report", tmp_path / "o.jsonl")
    said = json.loads(radrl("score", table(ROWS, "r.csv"), *options).stdout)
    assert said["metrics"].keys() == {"ce_rules_macro14_f1", "ce_chexbert_macro14_f1"}
    assert said["per_label"].keys() == {"rules", "chexbert"}
    assert len(said["settings"]["chexbert"]["sha256"]) == 64
    row = json.loads((tmp_path / "o.jsonl").read_text().splitlines()[0])
    assert row["chexbert_hypothesis_Edema"] in (None, 1, 0, -1)


def test_seeds_matter_and_repeat(radrl, table, tmp_path):
    path = table(ROWS, "r.csv")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        options = ("--bootstrap", "30", "--seed", seed, "--per-report", tmp_path / f"{name}.parquet")
        assert radrl("score", path, *QUICK, "--json", tmp_path / f"{name}.json", *options).exit_code == 0
    content = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert content["a.json"] == content["b.json"] != content["c.json"]
    assert content["a.parquet"] == content["b.parquet"]


@pytest.mark.parametrize("name", ["o.csv", "o.jsonl", "o.parquet"])
def test_rows_per_report(radrl, table, read, tmp_path, name):
    out = tmp_path / name
    options = ("--per-report", out, "--id", "uid", "--patient", "who", "-q")
    assert radrl("score", table(ROWS, "r.csv"), *QUICK, *options).stderr == ""
    ce, nlg, truth, found = directly()
    rows = read(out)
    assert [row["uid"] for row in rows] == [row["uid"] for row in ROWS]
    assert [int(row["row"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    assert list(rows[0])[:3] == ["row", "uid", "who"]
    assert "reference" not in rows[0]
    for metric, values in (ce.per_report | nlg.per_report).items():
        assert [float(row[metric]) for row in rows] == values.tolist()
    codes = {0: None, 1: 1, 2: 0, 3: -1}
    for side, labels in (("reference", truth), ("hypothesis", found)):
        for i, observation in enumerate(OBSERVATIONS):
            values = [row[f"rules_{side}_{observation}"] for row in rows]
            assert [None if value in (None, "") else int(value) for value in values] == [
                codes[x] for x in labels[:, i]
            ]


def test_texts_are_written_only_when_asked_for(radrl, table, read, tmp_path):
    path, rows, with_texts = table(ROWS, "r.csv"), tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    radrl("score", path, *QUICK, "--per-report", rows, "--json", tmp_path / "a.json")
    radrl("score", path, *QUICK, "--per-report", with_texts, "--with-texts", "--classes", "words")
    for text in (rows, tmp_path / "a.json"):
        assert "cardiomegaly" not in text.read_text()
    first = read(with_texts)[0]
    assert (first["reference"], first["hypothesis"]) == (REFERENCES[0], HYPOTHESES[0])
    assert first["rules_reference_Cardiomegaly"] == "positive"


def test_the_table(radrl, table, tmp_path):
    path = table(ROWS, "r.csv")
    result = radrl("score", path, *QUICK, "--bootstrap", "20", "--patient", "who")
    assert "\x1b" not in result.stdout
    lines = result.stdout.splitlines()
    ce, nlg, *_ = directly()
    for name, value in (ce.corpus | nlg.corpus).items():
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        assert line.split()[1] == f"{value:.3f}"
        assert len(line.split()) == 4
    assert "nlg_meteor: skipped (not asked for)" in lines
    assert any(
        line.startswith("r.csv (sha256 ")
        and line.endswith("6 reports of 4 patients, hypotheses that are no report: 1")
        for line in lines
    )
    assert "rules: alternatives uncertain, other_findings true" in lines
    assert "nlg: preparation basic, meteor false" in lines
    (row,) = (line for line in lines if line.startswith("Cardiomegaly"))
    assert row.split()[1:] == ["1.000", "1.000", "1.000", "2", "2"]
    assert result.stderr == "scored 6 reports\n"


def test_json_takes_the_tables_place_on_standard_output(radrl, table):
    assert json.loads(radrl("score", table(ROWS, "r.csv"), *QUICK, "--json", "-").stdout)["radrl"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("nlg", {"nlg_bleu1", "nlg_bleu2", "nlg_bleu3", "nlg_bleu4", "nlg_rougel", "nlg_cider"}),
        ("nlg_bleu4", {"nlg_bleu4"}),
        ("ce_*_macro14_f1, nlg_bleu[12]", {"ce_rules_macro14_f1", "nlg_bleu1", "nlg_bleu2"}),
        ("ce_rules_exact_match?,ce_rules_exact_match?", {"ce_rules_exact_match5"}),
    ],
)
def test_metrics_by_family_name_and_pattern(radrl, table, wanted, found):
    said = scored(radrl, table(ROWS, "r.csv"), "--metrics", wanted)
    assert said["metrics"].keys() == found


def test_labels_are_read_only_for_ce(radrl, table, monkeypatch):
    monkeypatch.setattr("radrl.commands.run.build_labeler", None)
    said = scored(radrl, table(ROWS, "r.csv"), "--metrics", "nlg_bleu1")
    assert said["per_label"] == {}


def test_a_text_is_labelled_once_for_figures_tables_and_rows(radrl, table, tmp_path, monkeypatch):
    read = []

    def label(self, texts):
        read.extend(texts)
        return np.zeros((len(texts), 14), dtype=np.int8)

    monkeypatch.setattr(RulesLabeler, "label", label)
    scored(radrl, table([*ROWS, *ROWS], "r.csv"), "--per-report", tmp_path / "o.csv")
    assert sorted(read) == sorted({*REFERENCES, *HYPOTHESES})


@pytest.mark.parametrize(
    ("wanted", "near"),
    [("nlg_blue4", "nlg_bleu4"), ("bleu", "nlg_bleu4"), ("ce_chexbert_micro14_f1", "ce_rules_micro14_f1")],
)
def test_a_metric_that_is_none(radrl, table, wanted, near):
    result = radrl("score", table(ROWS, "r.csv"), "--metrics", wanted)
    assert result.exit_code == 2
    assert f"no metric is {wanted!r}; near it:" in result.stderr
    assert near in result.stderr


def test_all_metrics_can_be_listed(radrl):
    said = radrl("score", "--list-metrics").stdout.split()
    ce, nlg, *_ = directly()
    assert {*ce.corpus, *nlg.corpus, "nlg_meteor", "radgraph_rules:", "green_rules:"} <= {*said}
    assert "radgraph, green, radeval, radmatch: with a model" in " ".join(said)


def test_families_without_a_model_are_scored_by_default(radrl, table):
    result = radrl("score", table(ROWS, "r.csv"), "--no-meteor", "--json", "-", "--bootstrap", "10")
    said = json.loads(result.stdout)
    assert {one["family"] for one in said["metrics"].values()} == {
        "ce",
        "nlg",
        "radgraph_rules",
        "green_rules",
        "weighted_findings",
    }
    brief = radrl("score", table(ROWS, "r.csv"), "--no-meteor").stdout
    assert "ce_rules_macro14_f1 " in brief
    assert "ce_rules_macro14_recall" not in brief
    assert "more of ce (precision, recall, exact match) with --metrics ce or --json" in brief


def test_texts_can_be_scored_to_the_letter(radrl, table, read):
    path = table([{"reference": "seen  before .", "hypothesis": "seen before ."}], "r.csv")
    asked = ("--metrics", "nlg_rougel", "--no-meteor", "--json", "-", "--preparation")
    scores = {
        how: json.loads(radrl("score", path, *asked, how).stdout)["metrics"]["nlg_rougel"]
        for how in ("whitespace", "pycocoevalcap")
    }
    assert scores["whitespace"]["value"] == 1
    assert scores["pycocoevalcap"]["value"] == pytest.approx(2.44 * 0.75 / (0.75 + 1.44))


def test_a_family_with_a_model_wants_its_settings(radrl, table):
    result = radrl("score", table(ROWS, "r.csv"), "--metrics", "green")
    assert result.exit_code == 1
    assert "green is asked for but eval.green is not set" in result.stderr


class Model:
    name = "green"

    def __init__(self, error=None):
        self.error = error

    def score(self, references, hypotheses):
        if self.error:
            raise self.error
        return Scores({"green": 0.5, "green_matched": 2.0}, {}, about={"judge": "J"})


@pytest.fixture
def model(monkeypatch):
    def use(error=None):
        seen = []

        def make(*, judge=None):
            seen.append({"judge": judge})
            return Model(error)

        module = ModuleType("models")
        module.green = takes(Nothing)(make)
        monkeypatch.setitem(sys.modules, "models", module)
        monkeypatch.setitem(BUILTIN["metric"], "green", "models:green")
        return seen

    return use


def test_settings_of_a_params_file_or_of_its_section(radrl, table, tmp_path, model):
    seen = model()
    section = (
        "nlg: {preparation: whitespace, meteor: false}\ngreen: {judge: {model: J}}\nfamilies: [nlg, green]\n"
    )
    whole = "seed: 0\nlabeler: {name: rules}\neval:\n" + "".join(
        f"  {line}\n" for line in section.splitlines()
    )
    path = table(ROWS, "r.csv")
    for name, text in (("section.yaml", section), ("params.yaml", whole)):
        (tmp_path / name).write_text(text)
        said = json.loads(radrl("score", path, "--settings", tmp_path / name, "--json", "-").stdout)
        assert seen.pop() == {"judge": {"model": "J"}}
        assert {one["family"] for one in said["metrics"].values()} == {"nlg", "green"}
        assert said["about"]["green"] == {"judge": "J"}
        expected = nlg_scores(REFERENCES, HYPOTHESES, preparation="whitespace", meteor=False).corpus
        assert said["metrics"]["nlg_bleu1"]["value"] == expected["nlg_bleu1"]
    said = json.loads(
        radrl(
            "score", path, "--settings", tmp_path / "params.yaml", "--preparation", "basic", "--json", "-"
        ).stdout
    )
    assert said["settings"]["nlg"] == {"preparation": "basic", "meteor": False}
    only = radrl(
        "score", path, "--settings", tmp_path / "params.yaml", "--metrics", "green_m*", "--json", "-"
    ).stdout
    assert json.loads(only)["metrics"].keys() == {"green_matched"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nlg: {meteor: true}\ngreeen: {}\n", "has no use for 'greeen'; keys: eval"),
        ("- a\n", "holds no mapping"),
        ("a: [\n", "no valid YAML"),
    ],
)
def test_settings_that_are_none(radrl, table, tmp_path, content, message):
    (tmp_path / "s.yaml").write_text(content)
    result = radrl("score", table(ROWS, "r.csv"), "--settings", tmp_path / "s.yaml")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_report_that_cannot_be_scored_is_named_by_its_row(radrl, tmp_path, model):
    model(ScoringError("report 1 has no GREEN score"))
    path = tmp_path / "r.csv"
    path.write_text("reference,hypothesis\nd,b\n,b\nc,d\n")
    result = radrl(
        "score", path, "--metrics", "green", "--skip-bad", tmp_path / "bad.csv", "--json", tmp_path / "o.json"
    )
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: green: report of row 3 has no GREEN score (r.csv)\n",
    )
    assert [one.name for one in tmp_path.iterdir()] == ["r.csv"]


def test_metrics_that_a_model_does_not_give(radrl, table, model):
    model()
    result = radrl("score", table(ROWS, "r.csv"), "--metrics", "green_mached")
    assert result.exit_code == 2
    assert "no metric is 'green_mached'" in result.stderr


BAD = b"""\
{"reference": "d", "hypothesis": "b", "who": "p"}
{"reference": null, "hypothesis": "b", "who": "p"}
{"reference": "d", "who": "p"}
{"reference": " ", "hypothesis": "b", "who": "p"}
{"reference": "d", "hypothesis": "", "who": ""}
{"reference": "d", "hypothesis": ["b"], "who": "p"}
{"reference": "d", "hypothesis": "", "who": "p"}
{"reference": "nan ", "hypothesis": "b", "who": "p"}
"""
PROBLEMS = [
    "row 2: 'reference' is null",
    "row 3: no 'hypothesis'",
    "row 4: 'reference' is empty: there is nothing to compare with",
    "row 5: 'who' is empty: such rows would count as one patient's",
    "row 6: 'hypothesis' is a list, not text",
    "row 8: 'reference' is 'nan', which is no report: there is nothing to compare with",
]


def test_bad_rows_are_named_and_nothing_is_scored(radrl, tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(BAD)
    result = radrl("score", path, *QUICK, "--patient", "who", "--json", tmp_path / "o.json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[1:-1] == [f"  {problem}" for problem in PROBLEMS]
    assert [one.name for one in tmp_path.iterdir()] == ["r.jsonl"]


def test_bad_rows_can_be_left_out(radrl, read, tmp_path):
    path, bad = tmp_path / "r.jsonl", tmp_path / "bad.csv"
    path.write_bytes(BAD)
    said = scored(radrl, path, "--patient", "who", "--skip-bad", bad, "--id", "who")
    assert (said["source"]["reports"], said["source"]["bad_rows"]) == (2, 6)
    assert [f"row {row['row']}: {row['problem']}" for row in read(bad)] == PROBLEMS
    assert [row["who"] for row in read(bad)] == ["p", "p", "p", "", "p", "p"]


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.parquet"])
@pytest.mark.parametrize("option", ["--reference", "--hypothesis", "--patient", "--id"])
def test_columns_that_are_not_there(radrl, table, name, option):
    result = radrl("score", table(ROWS, name), *QUICK, option, "nope")
    assert result.exit_code == 2
    assert f"for {option}: there is no column 'nope', there are uid, who, reference" in result.stderr


def test_rows_of_one_identity_are_noted(radrl, table):
    result = radrl("score", table(ROWS, "r.csv"), *QUICK, "--id", "who")
    assert result.stderr.startswith("note: 2 rows have the --id of a row before them\n")


def test_only_what_is_needed_is_read(radrl, tmp_path):
    rows = pa.table(
        {
            "film": pa.array([b"\xff"] * 2, pa.binary()),
            "n": [1, 2],
            "reference": ["d", "b"],
            "hypothesis": ["a", "c"],
        }
    )
    pq.write_table(rows, tmp_path / "r.parquet")
    options = ("--id", "n", "--per-report", tmp_path / "o.parquet")
    assert radrl("score", tmp_path / "r.parquet", *QUICK, *options).exit_code == 0
    assert pq.read_schema(tmp_path / "o.parquet").field("n").type == pa.int64()


def test_one_report_has_no_cider_and_says_so(radrl, table):
    path = table(ROWS[:1], "r.csv")
    assert "one report" in scored(radrl, path)["skipped"]["nlg_cider"]
    result = radrl("score", path, *QUICK, "--bootstrap", "5")
    assert result.exit_code == 2
    assert "there is only one" in result.stderr


def test_memory_does_not_grow_with_the_pairs(tmp_path):
    paths = score_memory.write_pairs(tmp_path, (1000, 4000))
    few, many = (
        score_memory.measure(*score_memory.SCORE, *score_memory.NLG, path) for path in paths.values()
    )
    assert many.memory - few.memory < 20  # MB; 40 kB a pair would be 120


def test_texts_are_held_some_at_a_time(radrl, table, monkeypatch):
    sizes = []

    def score(self, references, hypotheses):
        sizes.append(len(references))
        return means_of({"radgraph_rules_simple": [0.5] * len(references)})

    monkeypatch.setattr("radrl.scoring.rules.graph.RadGraphRules.score", score)
    monkeypatch.setattr("radrl.commands.pairs._AT_ONCE", 4)
    assert radrl("score", table(ROWS, "r.csv"), "--metrics", "radgraph_rules").exit_code == 0
    assert sizes == [4, 2]


def test_parts_give_the_figures_rows_and_intervals_of_the_whole(radrl, table, tmp_path, monkeypatch):
    path, said = table([*ROWS, *ROWS[::-1]], "r.csv"), {}
    for name, size in (("whole", 100), ("parts", 5)):
        monkeypatch.setattr("radrl.commands.pairs._AT_ONCE", size)
        out = tmp_path / f"{name}.csv"
        result = radrl(
            "score", path, "--no-meteor", "--bootstrap", "20", "--patient", "who", "--json", "-",
            "--per-report", out,
        )  # fmt: skip
        said[name] = (result.stdout, out.read_bytes())
    assert said["whole"] == said["parts"]
