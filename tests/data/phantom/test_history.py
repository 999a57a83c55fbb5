"""Second studies: what became of a finding is told by both reports' sizes, and by neither alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from radrl.data.phantom.findings import case_from_labels
from radrl.data.phantom.history import NOUNS, PHRASES, compared, draw_change, with_finding
from radrl.data.phantom.wording import write_report
from radrl.data.sources.phantom import PhantomSection, read
from radrl.data.study import Record
from radrl.labelers.rules.labeler import RulesLabeler
from radrl.scoring.rules.errors import GreenRules

SETTINGS: dict[str, Any] = {
    "seed": 5,
    "studies": {"train": 240},
    "image_size": 56,
    "prevalence": {"Pleural Effusion": 0.7},
    "severity": (1.5, 1.5),
    "hedge_share": 0.0,
    "missing_findings": 0.0,
    "missing_impression": 0.0,
    "lateral_share": 0.0,
}
GRADES = ("small", "moderate", "large")
STEPS = {"grown": 1, "shrunk": -1, "unchanged": 0}


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Record, Record]]:
    studies = list(read(**SETTINGS, follow_ups=1.0))
    return list(zip(studies[::2], studies[1::2], strict=True))


def said(record: Record) -> str | None:
    text = (record.findings or "").lower()
    words = {change: [own.split("} ")[-1] for own in phrases] for change, phrases in PHRASES.items()}
    found = [change for change, ends in words.items() if any(f" {end}" in text for end in ends)]
    assert len(found) < 2
    return found[0] if found else None


def effusion_grade(record: Record) -> int | None:
    sentences = [own for own in (record.findings or "").lower().split(".") if "pleural effusion" in own]
    found = [grade for grade, word in enumerate(GRADES) if any(word in own for own in sentences)]
    trace = any("trace" in own for own in sentences)
    return 0 if trace else found[0] if found else None


def test_every_patient_has_a_study_and_its_follow_up(pairs: list[tuple[Record, Record]]) -> None:
    for first, second in pairs:
        assert first.patient_id == second.patient_id
        assert (first.taken, second.taken) == (0, 1)
        assert first.age == second.age
        assert said(first) is None
        if said(second):
            assert second.indication is not None
            assert second.indication.startswith("Follow-up of ")


def test_what_is_said_is_what_both_reports_sizes_say(pairs: list[tuple[Record, Record]]) -> None:
    checked = 0
    for first, second in pairs:
        if second.indication == "Follow-up of effusion." and (change := said(second)):
            before, now = effusion_grade(first), effusion_grade(second)
            assert before is not None
            assert now is not None
            assert now - before == STEPS[change]
            checked += 1
    assert checked > 40


def test_the_size_of_today_does_not_tell_the_change(pairs: list[tuple[Record, Record]]) -> None:
    changes = Counter(
        (effusion_grade(second), said(second))
        for _, second in pairs
        if second.indication == "Follow-up of effusion."
    )
    for grade, able in enumerate(
        (("shrunk", "unchanged"), ("grown", "shrunk", "unchanged"), ("grown", "unchanged"))
    ):
        assert all(changes[grade, change] >= 3 for change in able)


def test_reports_state_what_gold_says(pairs: list[tuple[Record, Record]]) -> None:
    records = [record for pair in pairs for record in pair]
    labels = RulesLabeler().label([record.findings or "" for record in records])
    assert labels.tolist() == [list(record.gold or ()) for record in records]


def test_without_follow_ups_nothing_is_compared_and_the_rest_is_as_it_was() -> None:
    plain = list(read(**SETTINGS))
    assert not any(said(record) for record in plain)
    again = list(read(**SETTINGS, follow_ups=0.5))
    same = sum(one.findings == other.findings for one, other in zip(plain, again, strict=True))
    assert len(plain) / 2 < same < len(plain)  # first studies, and blocks that are no pairs


@pytest.mark.parametrize("label", NOUNS)
@pytest.mark.parametrize("change", PHRASES)
def test_a_change_is_read_by_the_rules_and_another_one_is_an_error(label: str, change: Any) -> None:
    rng = np.random.default_rng(3)
    case = case_from_labels([label], rng)
    drawn = draw_change(case, rng)
    assert drawn is not None
    assert with_finding(case, drawn.finding).labelled(label) == (drawn.finding,)
    report = write_report(case, rng, lateral=False, prior=True)
    texts = {
        own: " ".join(s.text for s in compared(report, drawn._replace(change=own), rng).findings)
        for own in PHRASES
    }
    scorer = GreenRules()
    for other, text in texts.items():
        errors = scorer.score([texts[change]], [text]).corpus["green_rules_false_comparison"]
        assert errors == (other != change)


def test_a_study_without_a_finding_that_is_followed_has_no_change() -> None:
    rng = np.random.default_rng(0)
    assert draw_change(case_from_labels(["Fracture"], rng), rng) is None
    assert draw_change(case_from_labels([], rng, uncertain=["Edema"]), rng) is None


def test_grades_change_by_one_each_as_likely_as_the_others() -> None:
    rng = np.random.default_rng(1)
    seen: Counter[tuple[int, int]] = Counter()
    for _ in range(600):
        case = case_from_labels(["Edema"], rng)
        drawn = draw_change(case, rng)
        assert drawn is not None
        before, now = (
            int(np.searchsorted((0.4, 0.75), own.severity, side="right"))
            for own in (case.findings[0], drawn.finding)
        )
        assert now - before == STEPS[drawn.change]
        seen[before, now - before] += 1
    assert set(seen) == {(0, 0), (0, 1), (1, -1), (1, 0), (1, 1), (2, -1), (2, 0)}


@pytest.mark.parametrize("other", ["near_copies", "normal_share"])
def test_a_pool_that_makes_other_studies_of_a_patient_is_refused(other: str, root: Path) -> None:
    section = yaml.safe_load((root / "params.yaml").read_text())["ingest"]["phantom"]
    with pytest.raises(ValueError, match="set these two to 0, or follow_ups"):
        PhantomSection.model_validate(section | {"follow_ups": 0.5, other: 0.1})
