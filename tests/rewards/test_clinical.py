"""The clinical F1 reward on hand-labelled reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from radrl.labelers.build import build as build_labeler
from radrl.observations import INDEX, NEGATIVE, POSITIVE, UNCERTAIN
from radrl.rewards.build import build
from radrl.rewards.clinical import ClinicalF1


class Dictated:
    """Reads labels written out: "+Edema ?Fracture -Pneumonia"."""

    name = "dictated"

    def label(self, reports: Sequence[str]) -> np.ndarray:
        labels = np.zeros((len(reports), 14), np.int8)
        for row, report in enumerate(reports):
            for word in report.split():
                labels[row, INDEX[word[1:]]] = {"+": POSITIVE, "-": NEGATIVE, "?": UNCERTAIN}[word[0]]
        return labels


CASES = [
    ("+Edema +Fracture", "+Edema +Fracture", 1.0),
    ("+Edema +Fracture", "+Edema", 2 / 3),  # P 1, R 1/2
    ("+Edema", "+Edema +Fracture +Pneumonia", 1 / 2),  # P 1/3, R 1
    ("+Edema", "+Fracture", 0.0),
    ("+Edema", "", 0.0),
    ("", "+Edema", 0.0),
    ("-Edema", "-Edema", 0.75),  # neither has a positive label: what params.yaml says
    ("+Edema", "?Edema", 0.0),
    ("+Edema ?Fracture", "+Edema", 1.0),
]


@pytest.mark.parametrize(("reference", "report", "expected"), CASES)
def test_f1_of_one_report(reference: str, report: str, expected: float) -> None:
    part = ClinicalF1(Dictated(), weight=1.0, uncertain_as_positive=False, both_empty=0.75)
    assert part([report], [reference]) == [pytest.approx(expected)]


def test_hedges_count_when_asked_for() -> None:
    part = ClinicalF1(Dictated(), weight=1.0, uncertain_as_positive=True, both_empty=1.0)
    assert part(["?Edema", "+Edema"], ["+Edema", "+Edema ?Fracture"]) == [
        pytest.approx(1),
        pytest.approx(2 / 3),
    ]


def test_reward_of_an_arm_is_built_with_the_real_labeler() -> None:
    settings = {"ce_f1": {"weight": 0.5, "uncertain_as_positive": False, "both_empty": 1.0}}
    rules = {"name": "rules", "rules": {"alternatives": "uncertain", "other_findings": False}}
    reward = build(settings, build_labeler(rules))
    (part,) = reward.parts
    assert (part.name, part.weight) == ("ce_f1", 0.5)
    reports = ["There is pulmonary edema.", "The lungs are clear.", "Left pleural effusion."]
    references = ["Pulmonary edema is present.", "Clear lungs.", "No pleural effusion. Pulmonary edema."]
    assert reward.score_part(part, reports, references, ["a", "b", "c"]) == [1.0, 1.0, 0.0]


def test_part_set_to_nothing_is_left_out() -> None:
    assert build({"ce_f1": None}, Dictated()).parts == []


def test_unknown_part_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(ValueError, match="no reward 'bleu9'; there are ce_f1"):
        build({"bleu9": {"weight": 1.0}}, Dictated())
