"""FactS with one reader on both sides: a reference is worth 1 beside itself, in every recipe that has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radrl.labelers import build as build_labeler
from radrl.labelers.chexbert.labeler import CheXbertLabeler
from radrl.observations import NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.rewards.build import build
from radrl.scoring import ScoringError
from radrl.scoring.facts.build import build as build_facts
from radrl.scoring.facts.labeler import LabelerEntailment

FILES = sorted((Path(__file__).parents[3] / "conf" / "recipes").glob("*.yaml"))
SENTENCES = (
    "There is no edema",
    "Nor is there an effusion",  # denied by the sentence before alone
    "The heart is enlarged",
    "It is normal in size",
    "Possible pneumonia",
    "Atelectasis or pneumonia",  # as labeler.rules.alternatives says
    "Emphysema and scoliosis",  # other findings, which withhold No Finding
    "The lungs are clear",
    "Unremarkable study",
    "Endotracheal tube in place",
    "FINDINGS:\nSmall left pleural effusion",
    "Rib fracture, no pneumothorax",
    "",
)
REPORTS = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5).map(". ".join)


def rewards() -> list[Any]:
    """Each different FactS of a recipe or study, with the section `labeler` it is read by."""
    found: dict[str, Any] = {}
    for file in FILES:
        given = yaml.safe_load(file.read_text())
        recipe = yaml.safe_load(file.with_name(given["recipe"]).read_text()) if "recipe" in given else given
        for name, arm in (given.get("arms") or {}).items():
            if own := (arm.get("reward") or {}).get("facts"):
                assert writable(recipe["ingest"]), file.name
                found[f"{file.stem}-{name}"] = pytest.param(recipe["labeler"], own, id=f"{file.stem}-{name}")
    return list(found.values())


def writable(ingest: dict[str, Any]) -> bool:
    """Whether the text that a reference's labels are read from is the target that a policy can write."""
    cut = ingest["cleaning"] != "none" or ingest["max_report_words"] is not None
    return not cut or ingest["labels_of"] == "cleaned"


@pytest.mark.parametrize(("section", "own"), rewards())
def test_a_reference_scores_1_against_itself(
    section: dict[str, Any], own: dict[str, Any], labeler: CheXbertLabeler
) -> None:
    reader = build_labeler(section) if section["name"] == "rules" else labeler
    reward = build({"facts": own}, reader)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(REPORTS, min_size=1, max_size=8))
    def hold(reports: list[str]) -> None:
        ids = [f"film{i}" for i in range(len(reports))]
        found = reward.score_part(reward.parts[0], reports, reports, ids)
        assert found == pytest.approx([1.0] * len(reports), abs=1e-6), reports

    hold()


class Says:
    """A labeler that has one answer."""

    name = "says"

    def __init__(self, **labels: int) -> None:
        self.row = [labels.get(name.replace(" ", "_"), 0) for name in OBSERVATIONS]

    def label(self, reports: Any) -> np.ndarray:
        return np.array([self.row] * len(reports), np.int8)


@pytest.mark.parametrize(
    ("labels", "doubt", "verdicts"),
    [
        ({"Edema": POSITIVE, "Fracture": NEGATIVE}, False, {"Edema": 1, "Fracture": 2, "No Finding": 2}),
        ({"Edema": UNCERTAIN}, False, {}),
        ({"Edema": UNCERTAIN}, True, {"Edema": 1, "No Finding": 2}),
        ({"Support_Devices": POSITIVE}, False, {"Support Devices": 1}),
        ({"No_Finding": POSITIVE, "Edema": NEGATIVE}, False, {"Edema": 2, "No Finding": 1}),
        ({"No_Finding": POSITIVE, "Edema": POSITIVE}, False, {"Edema": 1, "No Finding": 1}),
    ],
)
def test_verdicts_by_hand(labels: dict[str, int], doubt: bool, verdicts: dict[str, int]) -> None:
    (rulings,) = LabelerEntailment(Says(**labels), uncertain_as_positive=doubt).entail([()], ["A report."])
    found = {name: ruling.verdict for name, ruling in zip(OBSERVATIONS, rulings, strict=True)}
    assert {name: int(verdict) for name, verdict in found.items() if verdict} == verdicts
    assert all(ruling.facts == () for ruling in rulings)


def test_it_is_named_after_the_labeler_and_asks_for_one(labeler: CheXbertLabeler) -> None:
    asked = {"extractor": "rules", "entailment": "labeler", "uncertain_as_positive": False}
    facts = build_facts(asked, labeler)
    assert facts.name == "facts_rules_labeler"
    assert facts.about["entailment_labeler"] == labeler.name
    with pytest.raises(ScoringError, match=r"facts\.entailment is labeler, but none was handed over"):
        build_facts(asked)
