"""Margin CheXbert Cosine Similarity of two reports' labels as a reward (MRG-R1, eq. 3 to 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from radrl.algorithms.mccs import both_blank, mccs
from radrl.labelers import Labeler
from radrl.parts.section import PositiveFloat, Section


class MccsSection(Section):
    """Margin, and what keeps the cosine finite."""

    margin: Annotated[float, Field(gt=-1, lt=1)]
    eps: PositiveFloat


class Mccs:
    """Margin CheXbert Cosine Similarity: MRG-R1, eq. 3 to 6.

    `told` has the share of pairs in which neither report says anything of the 13 findings: at a margin of 0
    they earn 0 though they agree.

    Args:
        labeler: who reads both reports.
        margin: m of eq. 6.
        eps: of eq. 5.
    """

    Section = MccsSection
    name, clinical = "mccs", True
    reads: Literal["report", "output"] = "report"

    def __init__(self, labeler: Labeler, *, margin: float, eps: float) -> None:
        self.labeler, self.margin, self.eps = labeler, margin, eps
        self.told: Mapping[str, float] = {}

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        labels = self.labeler.label(references), self.labeler.label(reports)
        self.told = {"both_blank_share": float(both_blank(*labels).mean())}
        return [float(score) for score in mccs(*labels, margin=self.margin, eps=self.eps)]
