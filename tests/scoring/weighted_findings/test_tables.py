"""Tables of weights: whole, a reason a row, changed by a user; conditions; what is said of the patient."""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

import pytest

from radrl.scoring import ScoringError
from radrl.scoring.weighted_findings import Finding
from radrl.scoring.weighted_findings.entities import SIGNS
from radrl.scoring.weighted_findings.tables import (
    UNKNOWN,
    Context,
    concepts,
    condition,
    context_of,
    default,
    tables,
)

PACKAGE = files("radrl.scoring.weighted_findings")


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(PACKAGE.joinpath(name).read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("name", ["weights.csv", "costs.csv", "similarities.csv"])
def test_every_row_has_a_reason(name: str) -> None:
    assert [row for row in rows(name) if len(row["reason"].split()) < 2 or None in row] == []


def test_every_concept_has_a_weight_and_the_first_row_of_each_no_condition() -> None:
    assert all(default().weight(Finding(concept), UNKNOWN) >= 0 for concept in concepts())
    first: dict[str, str] = {}
    for row in rows("weights.csv"):
        assert row["concept"] in concepts(), row
        first.setdefault(row["concept"], row["when"])
    assert set(first.values()) == {""}


def test_likenesses_are_of_concepts_and_below_1() -> None:
    seen = set()
    for row in rows("similarities.csv"):
        pair = frozenset((row["concept"], row["other"]))
        assert pair <= concepts().keys(), row
        assert len(pair) == 2
        assert pair not in seen, row
        assert 0 < float(row["similarity"]) < 1
        seen.add(pair)
    assert concepts().keys() >= SIGNS


def test_kin_without_a_row_is_alike_by_steps() -> None:
    like = default().like
    assert like["picc"]["central_line"] == 0.7  # has a row
    assert like["picc"]["support_device"] == pytest.approx(0.36)  # 0.6 of 0.6
    assert like["support_device"]["picc"] == like["picc"]["support_device"]
    assert "pneumothorax" not in like["rib_fracture"]


def test_what_kills_weighs_far_more_than_what_has_healed() -> None:
    def weight(concept: str) -> float:
        return default().weight(Finding(concept), UNKNOWN)

    assert weight("tension_pneumothorax") >= 20 * weight("granuloma")
    assert weight("free_air") > weight("pneumonia") > weight("atelectasis") > weight("scoliosis") > 0


@pytest.mark.parametrize(
    ("said", "finding", "context", "holds"),
    [
        ("", Finding("nodule"), UNKNOWN, True),
        ("severity>=moderate", Finding("nodule", severity=2), UNKNOWN, True),
        ("severity>=moderate", Finding("nodule", severity=1), UNKNOWN, False),
        ("severity<=small", Finding("nodule"), UNKNOWN, False),  # what is not said fulfils nothing
        ("size_mm<6", Finding("nodule", size_mm=5.9), UNKNOWN, True),
        ("age<40", Finding("nodule"), Context(age=39), True),
        ("age<40", Finding("nodule"), UNKNOWN, False),
        ("change=new|increased", Finding("nodule", change="increased"), UNKNOWN, True),
        ("tip_mm<20 tip=carina", Finding("endotracheal_tube", tip="carina", tip_mm=10), UNKNOWN, True),
        ("tip_mm<20 tip=carina", Finding("endotracheal_tube", tip="trachea", tip_mm=10), UNKNOWN, False),
        ("side=left", Finding("nodule", sides=frozenset({"left"})), UNKNOWN, True),
        ("region=apex", Finding("nodule", regions=frozenset({"base"})), UNKNOWN, False),
        ("indication=fall", Finding("nodule"), Context(indication="fall from a ladder"), True),
        ("indication=fall", Finding("nodule"), Context(indication="windfall"), False),
    ],
)
def test_condition_by_hand(said: str, finding: Finding, context: Context, holds: bool) -> None:
    assert condition(said)(finding, context) is holds


@pytest.mark.parametrize(
    "said", ["severity", "colour=red", "age>=old", "change<new", "severity>=huge", "age => 4"]
)
def test_what_is_no_condition_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match=r"is no |compared by"):
        condition(said)


@pytest.mark.parametrize(
    ("report", "age", "indication"),
    [
        ("INDICATION: 85-year-old man after a fall.\nFINDINGS: Normal.", 85, "85-year-old man after a fall."),
        ("HISTORY: Cough.\n\nNo effusion.", None, "cough."),
        ("Clinical information: 25 y/o woman FINDINGS: Clear.", 25, "25 y/o woman"),
        ("Comparison: 2 years old film. Age 61.", 2, ""),
        ("Unchanged for years. No effusion.", None, ""),
        ("No effusion.", None, ""),
    ],
)
def test_what_a_report_says_of_its_patient(report: str, age: float | None, indication: str) -> None:
    assert context_of(report) == Context(age, indication)


def test_a_mapping_changes_weights_and_costs() -> None:
    changed = tables({"granuloma": "urgent", "scoliosis age<20": 0.7, "side": 0.1, "expected": 0.0})
    scoliosis = Finding("scoliosis")
    assert changed.weight(Finding("granuloma"), UNKNOWN) == 1.0
    assert changed.weight(Finding("calcified_granuloma"), UNKNOWN) == 1.0  # has no row of its own
    assert changed.weight(scoliosis, Context(age=15)) == 0.7
    assert changed.weight(scoliosis, UNKNOWN) == 0.0
    assert changed.costs["side"] == 0.1
    assert default().costs["side"] == 0.75


def test_a_file_changes_weights(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("concept,when,weight,reason\npneumothorax,,0.3,we drain none\npicc,tip=stomach,2,odd\n")
    changed = tables(file)
    assert changed.weight(Finding("pneumothorax", severity=3), UNKNOWN) == 0.3  # no row of it is left
    assert changed.weight(Finding("picc", tip="stomach"), UNKNOWN) == 2.0
    assert changed.weight(Finding("picc", tip="azygos_vein"), UNKNOWN) == 0.5  # its parent's rows go on


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("finding,weight\nnodule,1\n", "has no column concept"),
        ("concept,weight\npneumothorrax,1\n", "line 2: .*did you mean 'pneumothorax'"),
        ("concept,weight\nnodule,high\n", "line 2: weight is 'high'; give one of urgent"),
        ("concept,weight\nnodule,-1\n", "line 2: weight is '-1'"),
        ("concept,weight\nnodule,nan\n", "line 2: weight is 'nan'"),
        ("concept,when,weight\nnodule,size>3,1\n", "line 2: 'size>3' is no condition"),
        ("concept,weight\nhedged,1.5\n", "line 2: hedged is '1.5'; it is a number, from 0 to 1"),
        ("concept,weight\nrest,0\n", "rest is '0'; it is a number, above 0"),
    ],
)
def test_a_file_that_is_no_table_of_weights_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(text)
    with pytest.raises(ScoringError, match=said):
        tables(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScoringError, match="cannot be read"):
        tables(tmp_path / "none.csv")
