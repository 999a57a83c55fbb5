"""A report's own F1 over its labels, read by a labeler, as a reward (DEER, eq. 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from radrl.algorithms.f_measure import report_f1
from radrl.labelers import Labeler
from radrl.parts.section import Section, Share


class ClinicalF1Section(Section):
    """How labels are read, and what two reports without any are worth."""

    uncertain_as_positive: bool
    both_empty: Share


class ClinicalF1:
    """The report's own F1 over its labels: F1(C(o), C(y)), the first term of DEER eq. 1.

    Args:
        labeler: C, who reads both reports.
        uncertain_as_positive: the reading of hedged findings.
        both_empty: worth of a report without positive labels when the reference has none either.
    """

    Section = ClinicalF1Section
    name, clinical = "ce_f1", True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, labeler: Labeler, *, uncertain_as_positive: bool, both_empty: float) -> None:
        self.labeler = labeler
        self.uncertain_as_positive, self.both_empty = uncertain_as_positive, both_empty

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        scores = report_f1(
            self.labeler.label(references),
            self.labeler.label(reports),
            uncertain_as_positive=self.uncertain_as_positive,
            both_empty=self.both_empty,
        )
        return [float(score) for score in scores]
