"""FactS as a reward: what a report's facts say against the reference's labels (OraPO, eq. 13 to 15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from radrl.labelers.base import Labeler
from radrl.rewards.base import RewardError
from radrl.scoring.base import ScoringError
from radrl.scoring.facts.score import FactS


class Facts:
    """F-beta of the labels that a report's facts entail; named after who finds and judges them.

    Args:
        labeler: who reads the references.
        facts: scores reports against their labels.
    """

    clinical = True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, labeler: Labeler, facts: FactS) -> None:
        self.labeler, self.facts, self.name = labeler, facts, facts.name

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`.

        Raises:
            RewardError: when a report, or every report of the call, could not be judged.
        """
        try:
            found = self.facts.score(reports, self.labeler.label(references), sample_ids)
        except ScoringError as error:
            raise RewardError(str(error)) from error
        return [float(score) for score in found.scores]
