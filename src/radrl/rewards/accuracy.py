"""Whether a report's labels are right, as a reward (OraPO, table 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

import numpy as np

from radrl.algorithms.f_measure import FloatArray, Labels, positives
from radrl.labelers import Labeler
from radrl.parts.section import Section

Agreement = Literal["all", "share"]
AGREEMENTS: Final[tuple[Agreement, ...]] = get_args(Agreement)


class AccuracySection(Section):
    """What counts as right."""

    agreement: Agreement
    uncertain_as_positive: bool


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

    Section = AccuracySection
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
