"""Findings matched and errors counted by rules, in GREEN's place, as a reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from radrl.evaluation.green import ERRORS
from radrl.parts.section import Nothing
from radrl.scoring.rules import errors


class GreenRules:
    """Matched findings / (matched + errors) of two reports (Ostmeier et al. 2024), counted by rules.

    As the metric of that name (`radrl.scoring.rules.errors`): 0 where nothing matched. `told` has the mean
    count a report of matched findings and of each kind of error. The judge is not GREEN's model.
    """

    Section = Nothing
    name, clinical = "green_rules", True
    reads: Literal["report", "output"] = "report"

    def __init__(self) -> None:
        self._scorer = errors.GreenRules()
        self.told: Mapping[str, float] = {}

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        found = self._scorer.score(references, reports)
        self.told = {kind: found.corpus[f"{self.name}_{kind}"] for kind in ("matched", *ERRORS)}
        scores: list[float] = found.per_report[self.name].tolist()
        return scores
