"""The stage eval on hand-made reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import pipeline
from kedro.runner import SequentialRunner
from kedro_datasets.json import JSONDataset

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import INDEX, NEGATIVE, POSITIVE, UNCERTAIN
from radrl.pipelines.eval import create_pipeline, create_summary, pick_headline, print_arms, score_reports
from radrl.pipelines.scored_texts import label_columns
from radrl.scoring.names import COUNTS

SETTINGS = {
    "families": ["ce", "nlg"],
    "cleaning": "none",
    "labels_of": "original",
    "max_report_words": None,
    "labelers": ["rules"],
    "nlg": {"preparation": "basic", "meteor": False},
    "headline": ["ce_rules_sample14_f1", "nlg_bleu2"],
}
LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}
NO_MODELS = Path()
EFFUSION = "There is a small left pleural effusion."
EDEMA = "There is pulmonary edema."
NORMAL = "The lungs are clear. There is no pleural effusion."
HEDGED = "There may be pulmonary edema."


@pytest.fixture
def reports() -> pd.DataFrame:
    return pd.DataFrame(
        [
            ("a_1", "a", "p1", f"{EFFUSION} {EDEMA}", EFFUSION),  # one of two found: P 1, R 1/2, F1 2/3
            ("b_1", "b", "p1", EDEMA, EDEMA),
            ("c_1", "c", "p2", NORMAL, EDEMA),
            ("d_1", "d", "p3", EDEMA, HEDGED),
            ("e_1", "e", "p4", EFFUSION, ""),
        ],
        columns=["sample_id", "study_id", "patient_id", "reference", "report"],
    ).assign(reference_label_text=lambda table: table["reference"])


def test_scores_are_the_hand_computed_ones(reports: pd.DataFrame) -> None:
    scores, _, _ = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    assert (scores["reports"], scores["patients"]) == (5, 4)
    assert scores["empty_share"] == pytest.approx(1 / 5)
    assert scores["distinct_share"] == pytest.approx(4 / 5)
    assert scores["ce_rules_sample14_f1"] == pytest.approx((2 / 3 + 1 + 0 + 0 + 0) / 5)
    # a hedged edema counts under the other reading
    assert scores["ce_rules_sample14_f1_uncertain_pos"] == pytest.approx((2 / 3 + 1 + 0 + 1 + 0) / 5)
    # five label set: TP effusion, edema; FP edema; FN edema, edema, effusion
    assert scores["ce_rules_micro5_f1"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 3))


def test_scores_are_json_and_name_what_was_skipped(reports: pd.DataFrame) -> None:
    scores, _, _ = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    assert json.loads(json.dumps(scores)) == scores
    assert scores["skipped"] == {"nlg_meteor": "skipped (not asked for)"}
    assert "nlg_meteor" not in scores


def test_labels_are_counted_under_both_readings(reports: pd.DataFrame) -> None:
    _, per_label, _ = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    assert per_label.groupby("reading").size().to_dict() == {"positive": 14, "positive or uncertain": 14}
    edema = per_label[per_label["observation"] == "Edema"].set_index("reading")
    assert edema.loc["positive", ["support", "predicted"]].tolist() == [3, 2]
    assert edema.loc["positive or uncertain", ["support", "predicted"]].tolist() == [3, 3]
    assert edema.loc["positive", "precision"] == pytest.approx(1 / 2)
    assert edema.loc["positive or uncertain", "recall"] == pytest.approx(2 / 3)


def test_each_report_keeps_its_labels_and_scores(reports: pd.DataFrame) -> None:
    scores, _, per_report = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    assert per_report["sample_id"].tolist() == reports["sample_id"].tolist()
    labels = np.stack(per_report["labels"].to_list())
    assert labels.dtype == np.int8
    assert labels[[1, 2, 3], INDEX["Edema"]].tolist() == [POSITIVE, POSITIVE, UNCERTAIN]
    assert per_report["reference_labels"][2][INDEX["Pleural Effusion"]] == NEGATIVE
    for name in ("ce_rules_sample14_f1", "ce_rules_sample14_f1_uncertain_pos", "nlg_rougel", "nlg_cider"):
        assert per_report[name].mean() == pytest.approx(scores[name])


@pytest.mark.parametrize("compute", [None, {"engine": "local", "workers": 1}])
def test_each_report_keeps_what_its_weighted_findings_come_from(
    reports: pd.DataFrame, tmp_path: Path, compute: dict[str, Any] | None
) -> None:
    settings = SETTINGS | {"families": ["ce", "weighted_findings"]}
    _, _, per_report = score_reports(reports, NO_MODELS, settings, LABELER, compute=compute)
    per_report.to_parquet(tmp_path / "per_report.parquet")
    kept = pd.read_parquet(tmp_path / "per_report.parquet").set_index("sample_id")
    found = {name: [*rows] for name, rows in kept["weighted_findings_lines"].items()}
    assert {row["kind"]: row["finding"] for row in found["a_1"]} == {
        "matched": "left pleural effusion",
        "missed": "pulmonary edema",
    }
    assert [(row["kind"], row["hypothesis_words"]) for row in found["c_1"]] == [("false", "pulmonary edema")]
    assert [(row["kind"], row["faults"]) for row in found["d_1"]] == [("matched", "certainty 0.100")]
    assert [row["kind"] for row in found["e_1"]] == ["missed", "silent"]
    for name, rows in found.items():
        whole = kept.loc[
            name, [f"weighted_findings_{kind}_cost" for kind in ("missed", "false", "inexact")]
        ].sum()
        assert sum(row["cost"] for row in rows if row["kind"] != "silent") == pytest.approx(whole), name


def test_each_text_is_labelled_once(reports: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def label(self: RulesLabeler, texts: list[str]) -> np.ndarray:
        read.extend(texts)
        return np.zeros((len(texts), 14), dtype=np.int8)

    monkeypatch.setattr(RulesLabeler, "label", label)
    score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    assert sorted(read) == sorted({*reports["reference"], *reports["report"]})


def test_labels_of_every_labeler_are_stored_the_first_ones_without_its_name() -> None:
    assert label_columns(0, "rules") == {"reference": "reference_labels", "report": "labels"}
    assert label_columns(1, "own") == {"reference": "reference_labels_own", "report": "labels_own"}


def test_labels_survive_parquet(reports: pd.DataFrame, tmp_path: Path) -> None:
    _, _, per_report = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    per_report.to_parquet(tmp_path / "per_report.parquet")
    again = pd.read_parquet(tmp_path / "per_report.parquet")
    np.testing.assert_array_equal(np.stack(again["labels"]), np.stack(per_report["labels"]))


def test_two_runs_give_the_same_bytes(reports: pd.DataFrame, tmp_path: Path) -> None:
    for name in ("one", "two"):
        scores, per_label, per_report = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
        (tmp_path / name).mkdir()
        (tmp_path / name / "scores").write_text(json.dumps(scores))
        per_label.to_csv(tmp_path / name / "label", index=False)
        per_report.to_parquet(tmp_path / name / "report")
    for part in ("scores", "label", "report"):
        assert (tmp_path / "one" / part).read_bytes() == (tmp_path / "two" / part).read_bytes()


def test_headline_picks_in_the_order_of_the_params(reports: pd.DataFrame) -> None:
    scores, per_label, _ = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    headline = pick_headline(
        scores, per_label, {"headline": ["nlg_bleu2", "ce_rules_micro5_f1", "nlg_meteor"]}
    )
    assert list(headline) == ["nlg_bleu2", "ce_rules_micro5_f1"]  # METEOR was skipped, which `scores` says
    assert headline["nlg_bleu2"] == scores["nlg_bleu2"]


def test_counts_are_those_that_params_may_name(reports: pd.DataFrame) -> None:
    from radrl.pipelines.eval import _describe

    assert {*_describe(reports), "gold_reports", "gold_patients"} == set(COUNTS)


def test_unknown_headline_metric_names_the_valid_ones(reports: pd.DataFrame) -> None:
    scores, per_label, _ = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    with pytest.raises(
        ValueError, match=r"eval\.headline: 'nlg_bleu5' is no metric; did you mean 'nlg_bleu"
    ) as error:
        pick_headline(scores, per_label, {"headline": ["nlg_bleu5"]})
    assert "ce_rules_macro14_f1" in str(error.value)
    with pytest.raises(ValueError, match="'skipped' is no metric"):
        pick_headline(scores, per_label, {"headline": ["skipped"]})


@pytest.mark.parametrize("side", ["reference", "report"])
def test_film_without_a_text_is_named(reports: pd.DataFrame, side: str) -> None:
    reports.loc[2, side] = None
    with pytest.raises(ValueError, match=f"1 films have no {side}, the first is c_1"):
        score_reports(reports, NO_MODELS, SETTINGS, LABELER)


def test_no_report_at_all_is_refused(reports: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="no report to score"):
        score_reports(reports.head(0), NO_MODELS, SETTINGS, LABELER)


def test_an_arms_scores_are_printed(reports: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    scores, per_label, _ = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    pick_headline(scores, per_label, SETTINGS)
    printed = capsys.readouterr().out
    assert "5 reports of 4 patients" in printed
    assert f"ce_rules_sample14_f1  {scores['ce_rules_sample14_f1']:.3f}" in printed
    assert "nlg_meteor: skipped (not asked for)" in printed
    (edema,) = [line for line in printed.splitlines() if line.startswith("Edema")]
    assert edema.split() == ["Edema", "0.500", "0.333", "0.400", "3", "2"]
    assert max(map(len, printed.splitlines())) <= 80


def test_arms_are_printed_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    print_arms(sft={"a": 0.5}, grpo={"a": 0.625, "b": 1.0})
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    assert rows == [["metric", "sft", "grpo"], ["a", "0.500", "0.625"], ["b", "-", "1.000"]]


def test_pipeline_scores_every_arm_under_its_name(
    reports: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parameters = {f"params:{name}" for name in ("eval", "labeler", "device", "threads")}
    shared = {"labeler_models", "compute"}
    arms = [
        pipeline(create_pipeline(), namespace=arm, inputs=shared, parameters=parameters)
        for arm in ("sft", "grpo")
    ]
    better = reports.assign(report=reports["reference"])
    entries = {
        "sft.reports": reports,
        "grpo.reports": better,
        "params:eval": SETTINGS,
        "params:labeler": LABELER,
        "params:device": "cpu",
        "params:threads": 1,
        "compute": None,
        "labeler_models": NO_MODELS,
    }
    catalog = DataCatalog({name: MemoryDataset(value) for name, value in entries.items()})
    for name in ("sft.scores", "grpo.headline"):
        catalog[name] = JSONDataset(filepath=str(tmp_path / f"{name}.json"))
    SequentialRunner().run(sum(arms, create_summary(["sft", "grpo"])), catalog)
    assert catalog["grpo.headline"].load()["nlg_bleu2"] == pytest.approx(1.0)
    assert catalog["sft.scores"].load()["ce_rules_sample14_f1"] == pytest.approx(1 / 3)
    table = capsys.readouterr().out.split("metric")[-1]
    assert table.split()[:5] == ["sft", "grpo", "ce_rules_sample14_f1", "0.333", "1.000"]


def with_gold(reports: pd.DataFrame) -> pd.DataFrame:
    """Radiologists saw edema on the first film, nothing on the third, and were not asked of the others."""
    edema, normal = [2] * 13 + [0], [2] * 13 + [1]
    edema[INDEX["Edema"]] = POSITIVE
    return reports.assign(gold=[edema, None, normal, None, None])


def test_gold_labels_are_scored_on_the_films_that_have_them(reports: pd.DataFrame) -> None:
    scores, _, per_report = score_reports(with_gold(reports), NO_MODELS, SETTINGS, LABELER)
    assert (scores["gold_reports"], scores["gold_patients"], scores["reports"]) == (2, 2, 5)
    # effusion where edema is, and edema where nothing is
    assert scores["ce_rules_gold_micro14_recall"] == 0
    assert scores["ce_rules_gold_micro14_f1"] == 0
    found = score_reports(
        with_gold(reports).assign(report=[EDEMA, "", EDEMA, "", ""]), NO_MODELS, SETTINGS, LABELER
    )[0]
    # TP edema; FP edema; FN no finding
    assert found["ce_rules_gold_micro14_f1"] == pytest.approx(2 / (2 + 1 + 1))
    assert found["ce_rules_gold_macro14_f1"] == pytest.approx((2 / (2 + 1)) / 14)
    assert found["ce_rules_gold_sample14_f1"] == pytest.approx(1 / 2)
    own = per_report["ce_rules_gold_sample14_f1"]
    assert own.isna().tolist() == [False, True, False, True, True]


def test_gold_labels_change_no_other_score(reports: pd.DataFrame) -> None:
    plain, _, _ = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    scores, _, _ = score_reports(with_gold(reports), NO_MODELS, SETTINGS, LABELER)
    assert {name: value for name, value in scores.items() if "gold" not in name} == plain


def test_gold_labels_have_rows_of_their_own(reports: pd.DataFrame) -> None:
    _, per_label, _ = score_reports(with_gold(reports), NO_MODELS, SETTINGS, LABELER)
    assert per_label.groupby("labeler").size().to_dict() == {"rules": 28, "rules_gold": 28}
    own = per_label[(per_label["labeler"] == "rules_gold") & (per_label["reading"] == "positive")]
    by_name = own.set_index("observation")
    assert by_name.loc["Edema", ["support", "predicted"]].tolist() == [1, 1]
    assert by_name.loc["No Finding", "support"] == 1


def test_gold_labels_are_printed_where_there_are_some(
    reports: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    pick_headline(*score_reports(reports, NO_MODELS, SETTINGS, LABELER)[:2], SETTINGS)
    assert "gold" not in capsys.readouterr().out
    scores, per_label, _ = score_reports(with_gold(reports), NO_MODELS, SETTINGS, LABELER)
    pick_headline(scores, per_label, SETTINGS | {"headline": ["ce_rules_gold_macro14_f1"]})
    printed = capsys.readouterr().out
    assert "against gold labels, 2 reports of 2 patients" in printed
    assert "rules_gold_macro14" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_without_clinical_efficacy_gold_labels_are_left_alone(reports: pd.DataFrame) -> None:
    scores, _, _ = score_reports(with_gold(reports), NO_MODELS, SETTINGS | {"families": ["nlg"]}, LABELER)
    assert not [name for name in scores if "gold" in name]


def test_a_column_without_any_gold_label_is_none(reports: pd.DataFrame) -> None:
    scores, _, _ = score_reports(reports.assign(gold=None), NO_MODELS, SETTINGS, LABELER)
    assert not [name for name in scores if "gold" in name]


def test_texts_are_cleaned_before_they_are_scored(reports: pd.DataFrame) -> None:
    cleaned = SETTINGS | {"cleaning": "r2gen_mimic", "max_report_words": 4}
    scores, _, per_report = score_reports(reports, NO_MODELS, cleaned, LABELER)
    assert scores["about"]["cleaning"] == "r2gen_mimic, cut after 4 words"
    assert (per_report["reference"].str.split().str.len() <= 4).all()
    assert (per_report["report"] == per_report["report"].str.lower()).all()
    plain, _, _ = score_reports(reports, NO_MODELS, SETTINGS, LABELER)
    assert plain["about"]["cleaning"] == "none"
    assert plain["nlg_bleu1"] != scores["nlg_bleu1"]
