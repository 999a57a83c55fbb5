"""Facts and verdicts by rules, by hand and by what they must keep of the labeler's reading."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.labelers.rules.labeler import RulesLabeler
from radrl.observations import INDEX, NEGATIVE, NO_FINDING, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.scoring.facts import Ruling, Verdict
from radrl.scoring.facts.rules import RulesEntailment, RulesExtractor

SILENT, SUPPORTED, CONTRADICTED = Verdict
TABLE = Path(__file__).parents[2] / "labelers" / "sentences.csv"
EFFUSION = {"Pleural Effusion": SUPPORTED, "No Finding": CONTRADICTED}
PNEUMONIA = {"Pneumonia": SUPPORTED, "No Finding": CONTRADICTED}
SENTENCES = sorted({row["sentence"] for row in csv.DictReader(TABLE.open(encoding="utf-8"))})
LABELER = RulesLabeler()


def facts_of(report):
    return RulesExtractor().extract([report])[0]


def rulings_on(*facts, uncertain_as_positive=False):
    return RulesEntailment(uncertain_as_positive=uncertain_as_positive).entail([facts])[0]


def verdicts_on(*facts, **how):
    """By label, those that are not silent."""
    return {
        name: ruling.verdict
        for name, ruling in zip(OBSERVATIONS, rulings_on(*facts, **how), strict=True)
        if ruling.verdict
    }


@pytest.mark.parametrize(
    ("report", "facts"),
    [
        ("There is a small left pleural effusion.", ("small left pleural effusion",)),
        ("No effusion or pneumothorax.", ("no effusion", "no pneumothorax")),
        ("Heart size is normal. The lungs are clear.", ("no cardiomegaly", "no lung abnormality")),
        ("The heart is mildly enlarged.", ("mild enlarged heart",)),
        ("Right basal opacity may be pneumonia.", ("right opacity in the base", "possible pneumonia")),
        ("Left upper lobe nodular opacity.", ("left nodular opacity in the upper zone",)),
        ("Unchanged moderate right effusion.", ("unchanged moderate right effusion",)),
        ("The pneumothorax has resolved.", ("resolved pneumothorax",)),
        ("The effusion has not resolved.", ("effusion",)),
        ("No change in the left effusion.", ("unchanged left effusion",)),
        ("Mild scoliosis. Emphysema.", ("mild scoliosis", "emphysema")),
        ("No effusion. There is no effusion.", ("no effusion",)),
        ("INDICATION: pneumonia. FINDINGS: Edema.", ("edema",)),
        ("No interval change.", ()),
        ("Compared with the prior study. Follow up as needed.", ()),
        ("", ()),
        (" \n", ()),
    ],
)  # fmt: skip
def test_facts_by_hand(report, facts):
    assert facts_of(report) == facts


@pytest.mark.parametrize(
    ("facts", "certain", "doubtful"),
    [
        # a denied finding contradicts its own label and is silent about every other
        (("no pleural effusion",), {"Pleural Effusion": CONTRADICTED, "No Finding": SUPPORTED}, None),
        (("small left pleural effusion",), EFFUSION, None),
        (("no left effusion", "right effusion"), EFFUSION, None),
        # nodular opacity is two labels
        (("nodular opacity",),
         {"Lung Lesion": SUPPORTED, "Lung Opacity": SUPPORTED, "No Finding": CONTRADICTED}, None),
        # doubt: silent, or as good as certain; it withholds No Finding either way
        (("possible pneumonia",), {}, PNEUMONIA),
        (("no pneumonia", "possible pneumonia"), {}, PNEUMONIA),
        (("possible edema", "right effusion"), EFFUSION,
         {"Edema": SUPPORTED, "Pleural Effusion": SUPPORTED, "No Finding": CONTRADICTED}),
        # heart failure is edema, and hints at a large heart
        (("heart failure",), {"Edema": SUPPORTED, "No Finding": CONTRADICTED},
         {"Edema": SUPPORTED, "Cardiomegaly": SUPPORTED, "No Finding": CONTRADICTED}),
        # a finding that is no observation speaks against No Finding, a device does not
        (("scoliosis",), {"No Finding": CONTRADICTED}, None),
        (("possible scoliosis",), {}, {"No Finding": CONTRADICTED}),
        (("no scoliosis",), {"No Finding": SUPPORTED}, None),
        (("endotracheal tube",), {"Support Devices": SUPPORTED, "No Finding": SUPPORTED}, None),
        (("no acute cardiopulmonary abnormality",), {"No Finding": SUPPORTED}, None),
        ((), {}, None),
    ],
)  # fmt: skip
def test_verdicts_by_hand(facts, certain, doubtful):
    assert verdicts_on(*facts) == certain
    assert verdicts_on(*facts, uncertain_as_positive=True) == (certain if doubtful is None else doubtful)


def test_rulings_name_the_facts_they_rest_on():
    rulings = rulings_on("no edema", "left effusion", "pneumonia", "no effusion", "large effusion")
    assert rulings[INDEX["Pleural Effusion"]] == Ruling(SUPPORTED, (1, 4))  # not the denial
    assert rulings[INDEX["Edema"]] == Ruling(CONTRADICTED, (0,))
    assert rulings[INDEX["Fracture"]] == Ruling(SILENT, ())
    assert rulings[NO_FINDING] == Ruling(CONTRADICTED, (1, 2, 4))
    assert rulings_on("no edema", "no scoliosis")[NO_FINDING] == Ruling(SUPPORTED, (0, 1))
    assert rulings_on("no edema", "scoliosis")[NO_FINDING] == Ruling(CONTRADICTED, (1,))


@pytest.mark.parametrize("uncertain_as_positive", [True, False])
@given(report=st.lists(st.sampled_from(SENTENCES), max_size=6).map(" ".join))
def test_facts_support_the_labels_that_the_labeler_reads_in_the_report(report, uncertain_as_positive):
    labels = LABELER.label([report])[0]
    rulings = rulings_on(*facts_of(report), uncertain_as_positive=uncertain_as_positive)
    positive = {POSITIVE, UNCERTAIN} if uncertain_as_positive else {POSITIVE}
    for name, label, ruling in zip(OBSERVATIONS[:-1], labels, rulings, strict=False):
        assert (ruling.verdict == SUPPORTED) == (label in positive), (name, facts_of(report))
        assert ruling.verdict == CONTRADICTED or label != NEGATIVE, (name, facts_of(report))


@given(text=st.text(max_size=80))
def test_any_text_has_facts_and_14_rulings_on_them(text):
    facts = facts_of(text)
    assert all(fact.strip() == fact != "" for fact in facts)
    rulings = rulings_on(*facts, uncertain_as_positive=True)
    assert len(rulings) == len(OBSERVATIONS)
    for ruling in rulings:
        assert (ruling.verdict == SILENT) == (not ruling.facts)
        assert all(0 <= number < len(facts) for number in ruling.facts)


@given(facts=st.lists(st.sampled_from(["no edema", "edema", "possible edema", "scoliosis", "stent"])))
def test_the_order_of_facts_changes_no_verdict(facts):
    assert verdicts_on(*facts) == verdicts_on(*reversed(facts))


def test_a_part_says_the_same_every_time():
    reports = [" ".join(SENTENCES[n::9]) for n in range(9)]
    first = RulesExtractor().extract(reports)
    assert first == RulesExtractor().extract(list(reversed(reports)))[::-1]
