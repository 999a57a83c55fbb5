"""Rewards: a function of reports, and a class that reads labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from radrl.labelers import Labeler
from radrl.observations import NO_FINDING, POSITIVE
from radrl.parts.section import Section


def brevity(reports: Sequence[str], references: Sequence[str], *, words: int = 40) -> list[float]:
    """Reports of no more words than `words`, or than the reference has, are worth 1; longer ones less."""
    pairs = zip(reports, references, strict=True)
    return [min(1.0, max(words, len(truth.split())) / max(1, len(text.split()))) for text, truth in pairs]


class CallsSection(Section):
    """A Section of its own bounds the settings."""

    normal: Annotated[float, Field(ge=0, le=1)] = 0.5


class Calls:
    """Whether report and reference agree on there being a finding at all."""

    Section = CallsSection
    clinical = True

    def __init__(self, labeler: Labeler, *, normal: float) -> None:
        self.labeler, self.normal = labeler, normal

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> list[float]:
        """1 where both have findings, `normal` where neither has, 0 where one has."""
        found, truth = (
            self.labeler.label(texts)[:, :NO_FINDING] == POSITIVE for texts in (reports, references)
        )
        pairs = zip(found.any(axis=1), truth.any(axis=1), strict=True)
        return [0.0 if one != other else 1.0 if one else self.normal for one, other in pairs]
