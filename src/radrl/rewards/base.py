"""Rewards as a weighted sum of named parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol


class RewardError(ValueError):
    """A part gave no usable number for a report."""


class Reward(Protocol):
    """One part of a reward.

    Attributes:
        name: what its curve is called.
        weight: its share in the sum.
    """

    name: str
    weight: float

    def __call__(self, reports: Sequence[str], references: Sequence[str]) -> Sequence[float]:
        """Score N reports against their N references.

        Returns:
            N finite numbers.
        """
        ...


class RewardSum:
    """The parts of an arm's reward; the trainer logs them apart and optimises their weighted sum.

    Args:
        parts: at least one.
    """

    def __init__(self, parts: Sequence[Reward]) -> None:
        self.parts = list(parts)

    def score_part(
        self, part: Reward, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> list[float]:
        """Score reports with one part, refusing anything that is no number.

        Args:
            part: one of `parts`.
            reports: N generated reports.
            references: N reference reports.
            sample_ids: N ids, for the message.

        Returns:
            N finite numbers.

        Raises:
            RewardError: naming the part and the first film it has no finite number for. A broken score is
                never counted as 0, which would teach the policy that the report was bad.
        """
        scores = [float(score) for score in part(reports, references)]
        if len(scores) != len(reports):
            raise RewardError(f"reward {part.name} gave {len(scores)} scores for {len(reports)} reports")
        for score, sample_id, text in zip(scores, sample_ids, reports, strict=True):
            if not math.isfinite(score):
                raise RewardError(f"reward {part.name} is {score} for film {sample_id}: {text[:80]!r}")
        return scores
