"""The rule labeler, sentence by sentence and by the laws its classes must keep."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.labelers import Labeler, says_nothing
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.labelers.rules.text import _SECTION, _heads, fold, sentences
from radrl.observations import (
    BLANK,
    INDEX,
    NEGATIVE,
    NO_FINDING,
    OBSERVATIONS,
    POSITIVE,
    SUPPORT_DEVICES,
    UNCERTAIN,
)

CLASSES = {"blank": BLANK, "positive": POSITIVE, "negative": NEGATIVE, "uncertain": UNCERTAIN}
TABLE = list(csv.DictReader((Path(__file__).parent / "sentences.csv").open(encoding="utf-8")))
LABELER = RulesLabeler()

FINDINGS = {
    "cardiomegaly": "Cardiomegaly",
    "focal opacity": "Lung Opacity",
    "pulmonary nodule": "Lung Lesion",
    "pulmonary edema": "Edema",
    "consolidation": "Consolidation",
    "pneumonia": "Pneumonia",
    "atelectasis": "Atelectasis",
    "pneumothorax": "Pneumothorax",
    "pleural effusion": "Pleural Effusion",
    "pleural thickening": "Pleural Other",
    "rib fracture": "Fracture",
}
ONE = st.sampled_from(sorted(FINDINGS))
SOME = st.lists(st.sampled_from(sorted(FINDINGS)), min_size=1, max_size=5, unique=True)
SENTENCES = st.lists(st.sampled_from([row["sentence"] for row in TABLE]), min_size=1, max_size=6)


def said(report: str, observation: str, labeler: RulesLabeler = LABELER) -> int:
    return int(labeler.label([report])[0, INDEX[observation]])


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row['observation']}: {row['sentence'][:50]}")
def test_golden_sentence(row: dict[str, str]) -> None:
    assert said(row["sentence"], row["observation"]) == CLASSES[row["expected"]]


def test_golden_table_covers_every_observation_and_class() -> None:
    assert len({row["sentence"] for row in TABLE}) >= 150
    assert {row["observation"] for row in TABLE} == set(OBSERVATIONS)
    assert {row["expected"] for row in TABLE} == set(CLASSES)


def test_shape_type_and_protocol() -> None:
    labeler: Labeler = LABELER
    labels = labeler.label(["Effusion.", "No effusion.", ""])
    assert labeler.name == "rules"
    assert labels.shape == (3, 14)
    assert labels.dtype == np.int8
    assert labeler.label([]).shape == (0, 14)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n ",
        "nan",
        "NaN",
        "NaT",
        "NA",
        "n/a",
        "None.",
        "123",
        "1.5",
        "12/05/2019",
        "1. 2.",
        "-",
        "FINDINGS: nan",
    ],
)
def test_no_report_is_blank_throughout(text: str) -> None:
    assert not LABELER.label([text]).any()


def test_a_report_that_holds_a_missing_section_is_one() -> None:
    assert said("FINDINGS: nan IMPRESSION: Normal chest.", "No Finding") == POSITIVE


@pytest.mark.parametrize("text", ["missing", "not available", "no report"])
def test_what_people_write_for_a_missing_report_counts_as_one(text: str) -> None:
    assert not says_nothing(text)
    assert said(text, "No Finding") == POSITIVE


def test_a_missing_report_is_refused_by_number() -> None:
    with pytest.raises(TypeError, match="report 1 is float"):
        LABELER.label(["Effusion.", float("nan")])  # type: ignore[list-item]


def test_unknown_class_for_alternatives_is_refused() -> None:
    with pytest.raises(ValueError, match="alternatives is 2"):
        RulesLabeler(alternatives=NEGATIVE)


def test_alternatives_as_indexers_take_them() -> None:
    indexers = RulesLabeler(alternatives=POSITIVE)
    assert said("Atelectasis or pneumonia.", "Atelectasis", indexers) == POSITIVE
    assert said("May represent atelectasis or pneumonia.", "Atelectasis", indexers) == UNCERTAIN
    assert said("No atelectasis or pneumonia.", "Atelectasis", indexers) == NEGATIVE
    assert said("Heart size is upper normal or mildly enlarged.", "Cardiomegaly", indexers) == POSITIVE


@pytest.mark.parametrize(
    "report", ["Emphysema. No effusion.", "Possible scoliosis.", "Degenerative changes."]
)
def test_other_findings_withhold_no_finding_unless_they_are_passed_over(report: str) -> None:
    assert said(report, "No Finding") == BLANK
    assert said(report, "No Finding", RulesLabeler(other_findings=False)) == POSITIVE


def test_a_denied_other_finding_withholds_nothing() -> None:
    assert said("No emphysema. No effusion.", "No Finding") == POSITIVE


def test_a_normal_template_earns_nothing_where_references_have_other_findings_alone() -> None:
    template = "The heart is normal in size. The lungs are clear. No effusion or pneumothorax."
    references = [
        "Degenerative changes of the thoracic spine. The lungs are clear.",
        "Hyperinflation and emphysema without focal consolidation.",
        "Calcified granuloma in the left base. No acute disease.",
        "Mild scoliosis. Heart size is normal.",
        "Small hiatal hernia. No pleural effusion.",
    ]

    def hits(labeler: RulesLabeler) -> int:
        of_references, of_template = labeler.label(references), labeler.label([template])
        assert of_template[0, NO_FINDING] == POSITIVE
        return int(((of_references == POSITIVE) & (of_template == POSITIVE)).sum())

    assert hits(RulesLabeler()) == 0
    assert hits(RulesLabeler(other_findings=False)) == len(references)


def test_stated_tells_the_other_findings_apart() -> None:
    reports = ["Emphysema.", "Possible emphysema.", "No emphysema.", "Clear lungs."]
    assert [LABELER.read_statements(report)[NO_FINDING] for report in reports] == [
        POSITIVE,
        UNCERTAIN,
        NEGATIVE,
        BLANK,
    ]


def test_foreign_sections_are_left_out_and_the_rest_is_kept() -> None:
    report = (
        "INDICATION: Rule out pneumonia.\n\nFINDINGS: Small effusion.\nIMPRESSION: 1. Effusion. 2. Edema."
    )
    assert sentences(report) == ["small effusion", "1", "effusion", "2", "edema"]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("No effusion - a pneumothorax is seen.", ["no effusion", "a pneumothorax is seen"]),
        ("No effusion\u2014a pneumothorax is seen.", ["no effusion", "a pneumothorax is seen"]),
        ("Heart -- enlarged.", ["heart: enlarged"]),
        ("No ground - glass opacity.", ["no ground-glass opacity"]),
        ("No effusion\u2013pneumothorax is seen.", ["no effusion", "pneumothorax is seen"]),
        ("The mass seen in the left lung - resolved.", ["the mass seen in the left lung resolved"]),
        ("Pneumothorax - no.", ["pneumothorax: none"]),
        ("A right - sided mass at T8 - T9.", ["a right-sided mass at t8-t9"]),
        ("A follow-up film at 2\u20133 weeks.", ["a follow-up film at 2\u20133 weeks"]),
        ("No \ufb01brosis.", ["no fibrosis"]),
    ],
)
def test_dashes_and_ligatures(text: str, cut: list[str]) -> None:
    assert sentences(text) == cut


def test_text_after_a_last_foreign_section_is_kept() -> None:
    assert sentences("Comparison: None. The heart is enlarged.") == ["the heart is enlarged"]


def test_decimals_do_not_end_a_sentence() -> None:
    assert sentences("A 1.5 cm nodule. No effusion.") == ["a 1.5 cm nodule", "no effusion"]


@pytest.mark.parametrize(
    ("word", "folded"),
    [("opacities", "opacity"), ("effusions", "effusion"), ("mass", "mass"), ("atelectases", "atelectasis")],
)
def test_plurals_fold(word: str, folded: str) -> None:
    assert fold(word) == folded


@given(SOME)
def test_a_denial_reaches_a_whole_list(found: list[str]) -> None:
    report = f"There is no {', '.join(found[:-1])}{' or ' if found[:-1] else ''}{found[-1]}."
    assert {said(report, FINDINGS[name]) for name in found} == {NEGATIVE}


@given(SOME)
def test_a_plain_list_is_positive(found: list[str]) -> None:
    report = f"There is {' and '.join(found)}."
    assert {said(report, FINDINGS[name]) for name in found} == {POSITIVE}


@given(ONE, st.sampled_from(["Possible {}.", "Cannot exclude {}.", "{} is suspected.", "May represent {}."]))
def test_a_hedge_makes_uncertain(name: str, frame: str) -> None:
    assert said(frame.format(name), FINDINGS[name]) == UNCERTAIN


@given(ONE, st.sampled_from(["No change in the {}.", "The {} is unchanged.", "Stable {}."]))
def test_a_denied_change_leaves_the_finding(name: str, frame: str) -> None:
    assert said(frame.format(name), FINDINGS[name]) == POSITIVE


@given(SENTENCES, st.randoms(use_true_random=False))
def test_the_order_of_sentences_does_not_matter(parts: list[str], order: object) -> None:
    parts = [part for part in parts if ":" not in part]
    shuffled = list(parts)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert np.array_equal(LABELER.label([" ".join(parts)]), LABELER.label([" ".join(shuffled)]))


@given(SENTENCES)
def test_positive_beats_uncertain_beats_negative(parts: list[str]) -> None:
    parts = [part for part in parts if ":" not in part]
    single = LABELER.label(parts) if parts else np.zeros((1, 14), dtype=np.int8)
    whole = LABELER.label([" ".join(parts)])[0]
    for i in range(NO_FINDING):
        column = set(single[:, i].tolist())
        expected = next((c for c in (POSITIVE, UNCERTAIN, NEGATIVE) if c in column), BLANK)
        assert whole[i] == expected


@given(SENTENCES)
def test_no_finding_follows_from_the_other_columns(parts: list[str]) -> None:
    row = RulesLabeler(other_findings=False).label([" ".join(parts)])[0]
    others = [row[i] for i in range(NO_FINDING) if i != SUPPORT_DEVICES]
    said_anything = any(not says_nothing(part) for part in parts)
    assert row[NO_FINDING] == int(said_anything and not {POSITIVE, UNCERTAIN} & set(others))


@given(SENTENCES)
def test_the_cache_changes_nothing(parts: list[str]) -> None:
    report = " ".join(parts)
    assert np.array_equal(LABELER.label([report, report]), RulesLabeler(cache_size=0).label([report, report]))


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    row = LABELER.label([text])[0]
    assert set(row[:NO_FINDING].tolist()) <= {BLANK, POSITIVE, NEGATIVE, UNCERTAIN}
    assert row[NO_FINDING] in (0, 1)


HEADINGS = (
    "FINDINGS",
    "Clinical  Indication",
    "indication",
    "exam type",
    "reason for examination",
    "\u017ftudy",
    "x",
)
MARKS = (":", " :", "::", "\u2003:", "\n:", ".", "*", " ", "\n\n", "no effusion", "a" * 30)


@given(st.lists(st.sampled_from(HEADINGS + MARKS), max_size=14).map("".join))
def test_headings_looked_for_before_colons_are_all_of_them(text: str) -> None:
    assert [head.span() for head in _heads(text)] == [head.span() for head in _SECTION.finditer(text)]
