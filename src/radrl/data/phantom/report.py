"""A report as sentences, what they state together, and how it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from radrl.data.phantom.findings import DRAWN
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

_PRECEDENCE: Final = (POSITIVE, UNCERTAIN, NEGATIVE)
OTHER_FINDING: Final = ("No Finding", BLANK)
"""What a sentence states that tells of a finding beside the observations."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, the class it gives each observation it speaks of, and its topic (one of `wording._TOPICS`).

    A sentence that tells of a finding beside the observations gives No Finding the class blank.
    """

    text: str
    states: tuple[tuple[str, int], ...] = ()
    topic: str = "rest"


@dataclass(frozen=True, slots=True)
class Report:
    """A report in sentences; an empty section is a section the radiologist left out."""

    findings: tuple[Sentence, ...]
    impression: tuple[Sentence, ...]

    def gold(self) -> tuple[int, ...]:
        """What the text states, 14 class indices; positive goes before uncertain before negative (CheXpert).

        No Finding is positive when no observation but Support Devices is positive or uncertain, and no other
        finding is told of.
        """
        row = [BLANK] * len(OBSERVATIONS)
        stated = {pair for sentence in self.findings + self.impression for pair in sentence.states}
        for name in DRAWN:
            row[INDEX[name]] = next((c for c in _PRECEDENCE if (name, c) in stated), BLANK)
        abnormal = any(row[i] in (POSITIVE, UNCERTAIN) for i in range(NO_FINDING) if i != SUPPORT_DEVICES)
        abnormal = abnormal or OTHER_FINDING in stated
        row[NO_FINDING] = BLANK if abnormal else POSITIVE
        return tuple(row)


def print_section(sentences: Sequence[Sentence], rng: np.random.Generator, *, numbered: bool = False) -> str:
    """Set sentences as a section: running text, at times capitals, small letters, line breaks or a list.

    Args:
        sentences: the section.
        rng: generator of the typing habits.
        numbered: whether a section of several sentences may be a numbered list.
    """
    habit = rng.random()
    texts = [s.text for s in sentences]
    if numbered and len(texts) > 1 and rng.random() < 0.3:
        texts = [f"{i}. {text}" for i, text in enumerate(texts, start=1)]
    text = ("\n" if rng.random() < 0.1 else "  " if rng.random() < 0.15 else " ").join(texts)
    if habit < 0.03:
        return text.upper()
    return text.lower() if habit < 0.08 else text
