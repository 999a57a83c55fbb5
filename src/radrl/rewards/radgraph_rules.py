"""Agreement of entities and relations, found by rules in RadGraph's place, as a reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from radrl.parts.section import PositiveFloat, Section
from radrl.scoring.rules import graph

Level = Literal["simple", "partial", "complete"]


class RadGraphRulesSection(Section):
    """Which of RadGraph's rewards, and how its recall weighs against its precision."""

    level: Level = "partial"
    beta: PositiveFloat = 1.0


class RadGraphRules:
    """F-beta of the entities and relations of two reports (Delbrouck et al. 2022, section 3), read by rules.

    At beta 1 as the metric ``radgraph_rules_<level>`` (`radrl.scoring.rules.graph`): a text without any
    entity earns 0, and so does every report against it. The graphs are not those of RadGraph's model.

    Args:
        level: ``simple`` compares entities, ``partial`` also whether they have a relation, ``complete`` the
            relations themselves.
        beta: above 1 recall counts for more than precision, below 1 less.
    """

    Section = RadGraphRulesSection
    name, clinical = "radgraph_rules", True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, *, level: Level = "partial", beta: float = 1.0) -> None:
        self._scorer, self._metric = graph.RadGraphRules(beta=beta), f"{self.name}_{level}"

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        scores: list[float] = self._scorer.score(references, reports).per_report[self._metric].tolist()
        return scores
