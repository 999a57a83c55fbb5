"""The scorer on texts: what it gives, what changes nothing, and how it explains itself."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.scoring import Scorer, ScoringError
from radrl.scoring.build import build
from radrl.scoring.weighted_findings.explain import COLUMNS, lines, rows
from radrl.scoring.weighted_findings.score import WeightedFindings
from radrl.scoring.weighted_findings.tables import Context

NORMAL = "Heart size is normal. The lungs are clear. No pleural effusion or pneumothorax."
SICK = "Moderate cardiomegaly. Small left pleural effusion. No pneumothorax."
SENTENCES = (
    "Small left pleural effusion.",
    "No pneumothorax.",
    "The heart is moderately enlarged.",
    "Right lower lobe pneumonia.",
    "There is a calcified granuloma in the right upper lobe.",
    "The endotracheal tube ends 4 cm above the carina.",
    "Acute fracture of a left rib.",
)


@pytest.fixture(scope="module")
def scorer() -> WeightedFindings:
    return WeightedFindings()


def one(scorer: WeightedFindings, reference: str, hypothesis: str) -> float:
    return scorer.compare(reference, hypothesis).score


def test_scores_by_hand(scorer: WeightedFindings) -> None:
    # the effusion, actionable, is missed: 1 - 0.5 / (1 + 0.5 + 2 * 0.2); the side costs 0.75 * 0.5
    found = scorer.score(
        [SICK, SICK, NORMAL, NORMAL],
        [
            "Moderate cardiomegaly. No pleural effusion.",
            SICK.replace("left", "right"),
            "No acute disease.",
            "",
        ],
    )
    assert found.per_report["weighted_findings"] == pytest.approx([1 - 0.5 / 1.9, 1 - 0.375 / 2.4, 1.0, 0.0])
    assert found.per_report["weighted_findings_missed_cost"].tolist() == [0.5, 0.0, 0.0, 0.0]
    assert found.per_report["weighted_findings_inexact_cost"].tolist() == [0.0, 0.375, 0.0, 0.0]
    assert found.corpus["weighted_findings"] == pytest.approx(
        np.mean([1 - 0.5 / 1.9, 1 - 0.375 / 2.4, 1.0, 0.0])
    )


def test_a_tension_pneumothorax_costs_more_than_a_granuloma(scorer: WeightedFindings) -> None:
    severe = one(scorer, NORMAL, NORMAL + " There is a right tension pneumothorax.")
    assert severe < 0.5 < one(scorer, NORMAL, NORMAL + " There is a calcified granuloma.") < 1


def test_age_in_the_reference_moves_weights(scorer: WeightedFindings) -> None:
    said = "{} INDICATION: {}-year-old woman, cough. FINDINGS: Aortic calcification. No effusion."
    old, young = (one(scorer, said.format("", age), "No effusion. No pneumonia.") for age in (85, 25))
    assert young < old < 1


def test_a_patient_who_is_given_takes_the_place_of_what_the_reference_says(scorer: WeightedFindings) -> None:
    reference, hypothesis = "INDICATION: 85 years old. FINDINGS: Aortic calcification.", "No acute disease."
    known = [None, Context(age=25), Context()]
    found = scorer.score([reference] * 3, [hypothesis] * 3, contexts=known)
    assert found.per_report["weighted_findings_missed_cost"].tolist() == [0.05, 0.5, 0.2]
    with pytest.raises(ValueError, match="zip"):
        scorer.score([reference] * 3, [hypothesis] * 3, contexts=known[:2])


@given(
    st.sets(st.sampled_from(SENTENCES), min_size=1),
    st.sets(st.sampled_from(SENTENCES), min_size=1),
    st.randoms(),
)
def test_order_and_repetition_of_sentences_change_nothing(
    truth: set[str], said: set[str], draws: random.Random
) -> None:
    scorer = WeightedFindings()
    reference, sentences = " ".join(sorted(truth)), sorted(said)
    mixed = draws.sample(sentences, len(sentences))
    whole = one(scorer, reference, " ".join(sentences))
    assert one(scorer, reference, " ".join(mixed)) == whole
    assert one(scorer, reference, " ".join([*mixed, mixed[0]])) == whole
    assert one(scorer, reference, reference) == 1


def test_is_a_scorer_that_is_built_by_its_name() -> None:
    (made,) = build(["weighted_findings"], {}, [])
    asked: Scorer = made
    assert asked.score([SICK], [SICK]).corpus["weighted_findings"] == 1
    (made,) = build(["weighted_findings"], {"weighted_findings": {"weights": {"cardiomegaly": "urgent"}}}, [])
    assert made.score([SICK], [NORMAL]).per_report["weighted_findings_missed_cost"].tolist() == [1.5]


def test_in_parts_gives_what_all_at_once_gives(scorer: WeightedFindings) -> None:
    references, hypotheses = [SICK, NORMAL, SICK], [NORMAL, SICK, SICK.replace("Small", "Large")]
    with scorer.in_parts() as course:
        course.score(references[:2], hypotheses[:2])
        course.score(references[2:], hypotheses[2:])
        parts = course.corpus().corpus
    assert parts == pytest.approx(scorer.score(references, hypotheses).corpus)


def test_pairs_and_weights_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give a pair a study"):
        WeightedFindings().score([SICK], [])
    with pytest.raises(ScoringError, match="cannot be read"):
        WeightedFindings(weights=str(tmp_path / "none.csv"))


def test_rows_say_costs_and_the_words_they_were_read_from(scorer: WeightedFindings) -> None:
    hypothesis = "Small right pleural effusion. Calcified granuloma."
    found = rows(scorer.compare(SICK, hypothesis), SICK, hypothesis)
    assert [tuple(row) for row in found] == [COLUMNS] * 3
    by_kind = {row["kind"]: row for row in found}
    assert by_kind["matched"]["faults"] == "side 0.375"
    assert (
        by_kind["matched"]["reference_words"] == by_kind["matched"]["hypothesis_words"] == "pleural effusion"
    )
    assert by_kind["missed"]["finding"] == "cardiomegaly"
    assert by_kind["false"]["hypothesis_words"] == "Calcified granuloma"
    json.dumps(found)


def test_lines_say_the_same(scorer: WeightedFindings) -> None:
    hypothesis = "Small right pleural effusion."
    first, *rest = lines(scorer.compare(SICK, hypothesis), SICK, hypothesis)
    assert first.startswith("score 0.7")
    assert any("left pleural effusion, said as" not in line and "side 0.375" in line for line in rest)
    assert any(line.strip().startswith("missed") and "cardiomegaly" in line for line in rest)
    assert "nothing is stated" in "".join(lines(scorer.compare(SICK, ""), SICK, ""))


def test_what_a_row_costs_adds_up_to_the_score(scorer: WeightedFindings) -> None:
    found = scorer.compare(SICK, "Right tension pneumothorax. Cardiomegaly.")
    cost = sum(match.cost for match in found.matches)
    assert found.score == pytest.approx(1 - cost / (1 + found.total))
