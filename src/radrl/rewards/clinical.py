"""Clinical rewards: what a report says, read by a labeler, against what the reference says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

import numpy as np

from radrl.algorithms.f_measure import FloatArray, Labels, positives, report_f1
from radrl.algorithms.mccs import both_blank, mccs
from radrl.labelers.base import Labeler

Agreement = Literal["all", "share"]
AGREEMENTS: Final[tuple[Agreement, ...]] = get_args(Agreement)


class ClinicalF1:
    """The report's own F1 over its labels: F1(C(o), C(y)), the first term of DEER eq. 1.

    Args:
        labeler: C, who reads both reports.
        uncertain_as_positive: the reading of hedged findings.
        both_empty: worth of a report without positive labels when the reference has none either.
    """

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


class Accuracy:
    """Whether the labels are right: the reward of OraPO's naive GRPO baseline (its table 4).

    The paper says "accuracy as reward (as in DeepSeek-R1)" and no more. DeepSeek-R1's is 1 for a right answer
    and 0 otherwise, and a report's answer are its labels: that is ``all``. The other reading is ``share``, in
    which a report that says nothing is mostly right.

    Args:
        labeler: who reads both reports.
        agreement: see `label_agreement`.
        uncertain_as_positive: the reading of hedged findings.
    """

    name, clinical = "accuracy", True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, labeler: Labeler, *, agreement: Agreement, uncertain_as_positive: bool) -> None:
        self.labeler, self.agreement = labeler, agreement
        self.uncertain_as_positive = uncertain_as_positive

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        scores = label_agreement(
            self.labeler.label(references),
            self.labeler.label(reports),
            agreement=self.agreement,
            uncertain_as_positive=self.uncertain_as_positive,
        )
        return [float(score) for score in scores]


class Mccs:
    """Margin CheXbert Cosine Similarity: MRG-R1, eq. 3 to 6.

    `told` has the share of pairs in which neither report says anything of the 13 findings: at a margin of 0
    they earn 0 though they agree.

    Args:
        labeler: who reads both reports.
        margin: m of eq. 6.
        eps: of eq. 5.
    """

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


def label_agreement(
    reference: Labels,
    hypothesis: Labels,
    *,
    agreement: Agreement = "all",
    uncertain_as_positive: bool = False,
) -> FloatArray:
    """How far the positive labels of two reports are the same.

    Args:
        reference: class indices of N reference reports, shape (N, C).
        hypothesis: class indices of the N generated reports, shape (N, C).
        agreement: ``all``, 1 where all C labels agree and 0 otherwise; or ``share``, the share that agrees.
        uncertain_as_positive: the reading of uncertain labels.

    Returns:
        One number a report, in [0, 1], shape (N,).

    Raises:
        ValueError: when the kind of agreement is unknown or an entry is no class index.
    """
    if agreement not in AGREEMENTS:
        raise ValueError(f"unknown agreement {agreement!r}; valid: {', '.join(AGREEMENTS)}")
    same = positives(reference, uncertain_as_positive=uncertain_as_positive) == positives(
        hypothesis, uncertain_as_positive=uncertain_as_positive
    )
    share: FloatArray = (same.all(axis=-1) if agreement == "all" else same.mean(axis=-1)).astype(np.float64)
    return share
