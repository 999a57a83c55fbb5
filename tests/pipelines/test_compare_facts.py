"""What a report's facts say of each label, line by line."""

from __future__ import annotations

import numpy as np

from radrl.observations import INDEX, NEGATIVE, OBSERVATIONS, POSITIVE
from radrl.pipelines.compare.page import LabelFacts, by_label
from radrl.scoring.facts.base import Failure
from radrl.scoring.facts.build import build
from radrl.scoring.facts.rules import RulesEntailment
from radrl.scoring.facts.score import FactS

REFERENCE = np.zeros(len(OBSERVATIONS), np.int8)
for name, known in (("Pleural Effusion", POSITIVE), ("Edema", POSITIVE), ("Fracture", POSITIVE)):
    REFERENCE[INDEX[name]] = known
REFERENCE[INDEX["Pneumothorax"]] = NEGATIVE
RULES = {"extractor": "rules", "entailment": "rules", "uncertain_as_positive": False}


def test_each_label_has_its_verdict_beside_the_reference_and_the_facts_it_rests_on() -> None:
    text = "Small left effusion. No edema. No pneumothorax. The heart is enlarged."
    (report,) = build(RULES).score([text], REFERENCE[None], ["film"]).reports
    lines = {line.observation: line for line in by_label(report, REFERENCE.tolist())}
    effusion = lines["Pleural Effusion"]
    assert (effusion.reference, effusion.verdict, effusion.outcome) == ("present", "supported", "entailed")
    assert effusion.facts == ("small left effusion",)
    assert lines["Edema"] == LabelFacts("Edema", "present", "contradicted", "contradicted", ("no edema",))
    assert lines["Fracture"] == LabelFacts("Fracture", "present", "silent", "missing", ())
    assert (lines["Cardiomegaly"].reference, lines["Cardiomegaly"].outcome) == ("", "unsupported")
    denied = lines["Pneumothorax"]  # neither here nor there for the score, but a fact says it
    assert (denied.reference, denied.verdict, denied.outcome) == ("absent", "contradicted", None)
    assert "Lung Lesion" not in lines


def test_a_report_that_a_part_failed_on_has_no_lines() -> None:
    class Broken:
        name = "broken"
        about: dict[str, str] = {}  # noqa: RUF012

        def extract(self, reports: list[str]) -> list[tuple[str, ...] | Failure]:
            return [Failure("cut off"), *(() for _ in reports[1:])]

    facts = FactS(Broken(), RulesEntailment(uncertain_as_positive=False), missing="skip")
    failed, silent = facts.score(["a", "b"], np.stack([REFERENCE] * 2), ["1", "2"]).reports
    assert by_label(failed, REFERENCE.tolist()) == []
    assert {line.outcome for line in by_label(silent, REFERENCE.tolist())} == {"missing"}
