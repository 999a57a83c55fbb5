import numpy as np
import pytest

from radrl.evaluation.clinical_efficacy import gold_of
from radrl.labelers.build import build as build_labeler
from radrl.observations import INDEX
from radrl.scoring.clinical import GoldEfficacy

EDEMA = "There is pulmonary edema."
EFFUSION = "There is a small left pleural effusion."
LABELER = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": True}}


def gold(*names: str | None):
    rows = []
    for name in names:
        labels = [2] * 13 + [0]
        if name:
            labels[INDEX[name]] = 1
        rows.append(labels if name else None)
    return gold_of(rows)


@pytest.fixture
def scorer():
    return GoldEfficacy([build_labeler(LABELER)], gold("Edema", None, "Pleural Effusion"))


def test_reports_are_held_against_gold_labels_and_not_against_references(scorer):
    scores = scorer.score([EFFUSION] * 3, [EDEMA] * 3)
    assert scores.corpus["ce_rules_gold_micro14_f1"] == pytest.approx(2 * 1 / (2 * 1 + 1 + 1))
    assert scorer.score(["Anything."] * 3, [EDEMA] * 3).corpus == scores.corpus


def test_each_reports_own_score_averages_to_the_metric(scorer):
    scores = scorer.score([""] * 3, [EDEMA] * 3)
    own = scores.per_report["ce_rules_gold_sample14_f1"]
    assert own.tolist() == [1.0, pytest.approx(np.nan, nan_ok=True), 0.0]
    assert np.nanmean(own) == pytest.approx(scores.corpus["ce_rules_gold_sample14_f1"])
    assert scores.summed.values() == scores.corpus


def test_labels_without_text_are_scored_alike(scorer):
    labels = build_labeler(LABELER).label([EDEMA] * 3)
    assert scorer.sums_of_labels([""] * 3, labels).values() == scorer.score([""] * 3, [EDEMA] * 3).corpus
