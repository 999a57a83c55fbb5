"""The clinical rewards on hand-labelled reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from radrl.rewards.accuracy import Accuracy, label_agreement
from radrl.rewards.ce_f1 import ClinicalF1
from radrl.rewards.mccs import Mccs

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
def test_f1_of_one_report(
    dictated: Any, worth: Callable[..., Any], reference: str, report: str, expected: float
) -> None:
    reward = ClinicalF1(dictated, uncertain_as_positive=False, both_empty=0.75)
    assert worth(reward, (reference, report)) == [pytest.approx(expected)]


def test_hedges_count_in_f1_when_asked_for(dictated: Any, worth: Callable[..., Any]) -> None:
    reward = ClinicalF1(dictated, uncertain_as_positive=True, both_empty=1.0)
    assert worth(reward, ("+Edema", "?Edema"), ("+Edema ?Fracture", "+Edema")) == [1.0, pytest.approx(2 / 3)]


@pytest.mark.parametrize(
    ("reference", "report", "everything", "share"),
    [
        ("+Edema +Fracture", "+Fracture +Edema", 1.0, 1.0),
        ("+Edema", "+Edema +Fracture", 0.0, 13 / 14),
        ("+Edema", "+Fracture", 0.0, 12 / 14),
        ("-Edema", "", 1.0, 1.0),  # neither has a positive label
        ("+Edema", "?Edema", 0.0, 13 / 14),
    ],
)
def test_accuracy_in_both_readings(
    dictated: Any, worth: Callable[..., Any], reference: str, report: str, everything: float, share: float
) -> None:
    for agreement, expected in (("all", everything), ("share", share)):
        reward = Accuracy(dictated, agreement=agreement, uncertain_as_positive=False)  # type: ignore[arg-type]
        assert worth(reward, (reference, report)) == [pytest.approx(expected)]


def test_hedges_count_in_accuracy_when_asked_for(dictated: Any, worth: Callable[..., Any]) -> None:
    reward = Accuracy(dictated, agreement="all", uncertain_as_positive=True)
    assert worth(reward, ("+Edema", "?Edema"), ("", "?Edema")) == [1.0, 0.0]


def test_agreement_is_of_all_labels_and_leaves_hedged_ones_out_where_nothing_is_said() -> None:
    reference, hedged = np.array([[1, 0, 0, 0]]), np.array([[1, 3, 0, 0]])
    assert label_agreement(reference, hedged).tolist() == [1.0]  # 3 is no positive
    assert label_agreement(reference, hedged, uncertain_as_positive=True).tolist() == [
        0.0
    ]  # 3 of 4 are alike
    assert label_agreement(reference, np.array([[1, 1, 0, 0]])).tolist() == [0.0]


def test_unknown_agreement_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown agreement 'most'; valid: all, share"):
        label_agreement(np.zeros((1, 14), int), np.zeros((1, 14), int), agreement="most")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reference", "report", "margin", "expected"),
    [
        ("+Edema -Fracture", "+Edema -Fracture", 0.0, 1.0),
        ("+Edema", "+Edema +Fracture", 0.0, 1 / math.sqrt(2)),
        ("+Edema", "+Edema +Fracture", 0.5, math.sqrt(2) - 1),  # (1/sqrt 2 - 1/2) / (1/2)
        ("+Edema -Fracture", "+Edema +Fracture", 0.0, 0.0),
        ("+Edema", "-Edema", 0.0, 0.0),  # a cosine of -1
        ("+Edema", "?Edema", 0.0, 1.0),
        ("", "", 0.0, 0.0),
    ],
)
def test_mccs_of_one_report(
    dictated: Any, worth: Callable[..., Any], reference: str, report: str, margin: float, expected: float
) -> None:
    reward = Mccs(dictated, margin=margin, eps=1e-8)
    assert worth(reward, (reference, report)) == [pytest.approx(expected, abs=1e-7)]


def test_mccs_tells_how_many_pairs_are_blank(dictated: Any, worth: Callable[..., Any]) -> None:
    reward = Mccs(dictated, margin=0.0, eps=1e-8)
    worth(reward, ("", ""), ("+Edema", ""), ("", "+Edema"), ("-Edema", "-Edema"))
    assert reward.told == {"both_blank_share": 0.25}
