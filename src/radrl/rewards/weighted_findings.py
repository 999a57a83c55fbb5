"""Findings weighed by what they mean for the patient, as a reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from radrl.rewards.base import RewardError
from radrl.scoring import ScoringError
from radrl.scoring.weighted_findings import score
from radrl.scoring.weighted_findings.score import WeightedFindingsSection


class WeightedFindings:
    """One less the share of the findings' clinical weight that a report misses, invents or gets wrong.

    As the metric of that name (`radrl.scoring.weighted_findings.matching`): a normal report of a normal film
    earns 1, a report that states nothing 0. `told` has the mean costs a report of what is missed, false and
    inexact.

    Args:
        weights: a CSV file, or a mapping from concepts to weights; nothing for those that ship.
        beta: above 1 a miss costs more than a false finding, below 1 less.

    Raises:
        RewardError: for weights that are none.
    """

    Section = WeightedFindingsSection
    name, clinical = "weighted_findings", True
    reads: Literal["report", "output"] = "report"

    def __init__(self, *, weights: str | Mapping[str, str | float] | None = None, beta: float = 1.0) -> None:
        try:
            self._scorer = score.WeightedFindings(weights=weights, beta=beta)
        except ScoringError as error:
            raise RewardError(str(error)) from error
        self.told: Mapping[str, float] = {}

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        pairs = zip(references, reports, strict=True)
        found = [self._scorer.costs(reference, report) for reference, report in pairs]
        costs = {
            "missed": [one.missed for one in found],
            "false": [one.false for one in found],
            "inexact": [one.inexact for one in found],
        }
        self.told = {f"{kind}_cost": sum(values) / len(values) for kind, values in costs.items() if values}
        return [one.score for one in found]
