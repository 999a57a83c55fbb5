"""Clinical rewards: what a report says, read by a labeler, against what the reference says."""

from __future__ import annotations

from collections.abc import Sequence

from radrl.algorithms.f_measure import report_f1
from radrl.labelers.base import Labeler


class ClinicalF1:
    """The report's own F1 over its labels: F1(C(o), C(y)), the first term of DEER eq. 1.

    Args:
        labeler: C, who reads both reports.
        weight: share in the sum of rewards.
        uncertain_as_positive: the reading of hedged findings.
        both_empty: worth of a report without positive labels when the reference has none either.
    """

    name = "ce_f1"

    def __init__(
        self, labeler: Labeler, *, weight: float, uncertain_as_positive: bool, both_empty: float
    ) -> None:
        self.labeler, self.weight = labeler, weight
        self.uncertain_as_positive, self.both_empty = uncertain_as_positive, both_empty

    def __call__(self, reports: Sequence[str], references: Sequence[str]) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        scores = report_f1(
            self.labeler.label(references),
            self.labeler.label(reports),
            uncertain_as_positive=self.uncertain_as_positive,
            both_empty=self.both_empty,
        )
        return [float(score) for score in scores]
