"""Why a phantom's study is asked for, in the words of a request, and how old the patient is."""

from __future__ import annotations

from typing import Final

import numpy as np

from radrl.data.phantom.findings import Case
from radrl.data.phantom.follow_ups import NOUNS, FollowUp

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
