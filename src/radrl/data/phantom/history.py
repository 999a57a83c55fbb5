"""What is known of a patient beside the film: age, why the study is asked for, and the study before.

Of a patient's second study one finding of the first has grown, shrunk or stayed, and the report says which.
Only its size tells a change apart, and a film shows the size of one day. The first study's report names it,
so who reads that report can say what became of the finding, and who sees the film alone has to guess.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, NamedTuple

import numpy as np

from radrl.data.phantom import phrases
from radrl.data.phantom.findings import Case, Finding
from radrl.data.phantom.report import Report, Sentence
from radrl.observations import POSITIVE

Change = Literal["grown", "shrunk", "unchanged"]

NOUNS: Final = {
    "Pleural Effusion": "effusion",
    "Pneumothorax": "pneumothorax",
    "Edema": "edema",
    "Cardiomegaly": "cardiomegaly",
}
"""Findings that are followed, the first that a study surely has: reports name their size in three grades."""

PHRASES: Final[dict[Change, tuple[str, ...]]] = {
    "grown": ("The {noun} {has} increased.", "The {noun} {is} larger."),
    "shrunk": ("The {noun} {has} decreased.", "The {noun} {is} smaller."),
    "unchanged": ("The {noun} {is} unchanged.", "The {noun} {is} stable."),
}

_STEPS: Final[dict[Change, int]] = {"grown": 1, "shrunk": -1, "unchanged": 0}
_BELOW: Final = (0.4, 0.75)
"""Severities at which reports take the next word (`radrl.data.phantom.wording`): small, moderate, large."""
_SEVERITIES: Final = ((0.15, 0.35), (0.45, 0.7), (0.8, 1.0))

SYMPTOMS: Final = (
    "Cough.",
    "Shortness of breath.",
    "Chest pain.",
    "Fever.",
    "Hypoxia.",
    "Preoperative evaluation.",
    "Status post line placement.",
    "Fall.",
)

_ABSENT, _ASKED = 0.2, 0.4
"""Chances that a request gives no reason, or asks after a finding."""


class FollowUp(NamedTuple):
    """What became of a finding.

    Args:
        finding: as it is now.
        change: since the study before.
    """

    finding: Finding
    change: Change


def draw_change(first: Case, rng: np.random.Generator) -> FollowUp | None:
    """Draw what became of a study's finding.

    Args:
        first: the study.
        rng: of the draw.

    Returns:
        The finding later, by one grade larger or smaller or as it was, each as likely as the others that its
        grade leaves; nothing where the study has no finding that is followed.
    """
    sure = (own for name in NOUNS for own in first.labelled(name) if not own.hedged)
    if (finding := next(sure, None)) is None:
        return None
    grade = int(np.searchsorted(_BELOW, finding.severity, side="right"))
    able: list[Change] = [name for name, step in _STEPS.items() if 0 <= grade + step < len(_SEVERITIES)]
    change = able[int(rng.integers(len(able)))]
    severity = finding.severity
    if change != "unchanged":
        severity = float(rng.uniform(*_SEVERITIES[grade + _STEPS[change]]))
    return FollowUp(replace(finding, severity=severity), change)


def with_finding(case: Case, finding: Finding) -> Case:
    """A case in which an observation is this finding alone.

    Args:
        case: the patient's later study as it was drawn.
        finding: that is followed.
    """
    others = tuple(own for own in case.findings if own.label != finding.label)
    return replace(case, findings=(finding, *others))


def compared(report: Report, follow_up: FollowUp, rng: np.random.Generator) -> Report:
    """A report that also says what became of the finding, behind the sentence that tells of it.

    Args:
        report: of the later study.
        follow_up: of its finding.
        rng: of the wording.
    """
    label, both = follow_up.finding.label, follow_up.finding.side == "both"
    plural = both and label == "Pleural Effusion"
    options = PHRASES[follow_up.change]
    verbs = {"has": "have", "is": "are"} if plural else {"has": "has", "is": "is"}
    text = options[int(rng.integers(len(options)))].format(noun=NOUNS[label] + "s" * plural, **verbs)
    stated = (label, POSITIVE)
    findings = [_without_judgement(sentence) for sentence in report.findings]
    place = next(number for number, sentence in enumerate(findings) if stated in sentence.states)
    findings.insert(place + 1, Sentence(text, (stated,), findings[place].topic))
    return replace(report, findings=tuple(findings))


def draw_age(rng: np.random.Generator) -> int:
    """A patient's age in years, 20 to 90."""
    return int(rng.integers(20, 91))


def draw_indication(case: Case, follow_up: FollowUp | None, rng: np.random.Generator) -> str | None:
    """Draw a request.

    Args:
        case: the study.
        follow_up: of its finding, which the request then names.
        rng: of the draw.

    Returns:
        The reason: a symptom, a finding that is asked after, which the study has in half of the cases, or
        nothing.
    """
    if follow_up is not None:
        return f"Follow-up of {NOUNS[follow_up.finding.label]}."
    chance = rng.random()
    if chance < _ABSENT:
        return None
    if chance >= _ABSENT + _ASKED:
        return SYMPTOMS[int(rng.integers(len(SYMPTOMS)))]
    has = [noun for name, noun in NOUNS.items() if case.has(name)]
    nouns = has if has and rng.random() < 0.5 else list(NOUNS.values())
    return f"Evaluate for {nouns[int(rng.integers(len(nouns)))]}."


def _without_judgement(sentence: Sentence) -> Sentence:
    """A sentence on earlier studies that does not judge the change."""
    neutral, *others = phrases.COMPARISON[True]
    return replace(sentence, text=neutral) if sentence.text in others else sentence
