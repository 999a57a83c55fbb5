"""Clinical efficacy of texts: labelers read the reports, and the references or gold labels are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from radrl.algorithms.f_measure import report_f1
from radrl.evaluation import FloatArray, SummedMetrics, join
from radrl.evaluation.clinical_efficacy import Gold, clinical_efficacy_sums, gold_efficacy_sums, gold_labeler
from radrl.evaluation.label_agreement import metric_name
from radrl.labelers import Labeler, LabelMatrix
from radrl.parts.section import Nothing
from radrl.scoring import Scores
from radrl.scoring.by_parts import ScoringByParts, SumsByParts


class ClinicalEfficacy:
    """Every ``ce_*`` metric of one or more labelers.

    Args:
        labelers: who read the reports; the name of each is part of its metrics' names.
    """

    Section = Nothing
    name = "ce"

    def __init__(self, labelers: Sequence[Labeler]) -> None:
        self.labelers = list(labelers)

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`; per report the sample-wise F1 of either reading."""
        families: list[SummedMetrics] = []
        per_report: dict[str, FloatArray] = {}
        for labeler in self.labelers:
            truth, found = labeler.label(references), labeler.label(hypotheses)
            families.append(clinical_efficacy_sums(truth, found, labeler=labeler.name))
            per_report |= own_f1(truth, found, labeler.name)
        summed = join(*families)
        return Scores(summed.values(), per_report, summed=summed)

    def in_parts(self) -> ScoringByParts:
        """See `radrl.scoring.by_parts.InParts`."""
        return SumsByParts(self)

    def sums_of_labels(self, references: Sequence[str], labels: LabelMatrix) -> SummedMetrics:
        """The metrics of generated reports of which there are labels alone.

        Args:
            references: N reference reports.
            labels: class indices of the generated ones, shape (N, 14).

        Returns:
            The metrics, under each labeler's name.
        """
        return join(
            *(
                clinical_efficacy_sums(one.label(references), labels, labeler=one.name)
                for one in self.labelers
            )
        )


def own_f1(truth: LabelMatrix, found: LabelMatrix, labeler: str) -> dict[str, FloatArray]:
    """Each report's own F1 over the 14 labels, under the name of the metric it is averaged into.

    Args:
        truth: class indices of the references, shape (N, 14).
        found: class indices of the generated reports, shape (N, 14).
        labeler: name of the labeler that read both.

    Returns:
        By metric name, shape (N,), for both readings of uncertain.
    """
    return {
        metric_name(labeler, "sample", 14, "f1", uncertain_as_positive=reading): report_f1(
            truth, found, both_empty=0.0, uncertain_as_positive=reading
        )
        for reading in (False, True)
    }


class GoldEfficacy:
    """Every ``ce_{labeler}_gold_*`` metric of one or more labelers.

    Args:
        labelers: who read the generated reports.
        gold: labels of the N studies that are scored.
    """

    name = "ce"

    def __init__(self, labelers: Sequence[Labeler], gold: Gold) -> None:
        self.labelers = list(labelers)
        self.gold = gold

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.Scorer`; a report whose study has no gold labels has NaN of its own.

        The references are not looked at: a reference report too is scored by handing it in as hypothesis.
        `summed` is over the studies with gold labels alone.
        """
        families: list[SummedMetrics] = []
        per_report: dict[str, FloatArray] = {}
        for labeler in self.labelers:
            found = labeler.label(hypotheses)
            families.append(gold_efficacy_sums(self.gold, found, labeler=labeler.name))
            for metric, values in own_f1(self.gold.labels, found, gold_labeler(labeler.name)).items():
                per_report[metric] = np.where(self.gold.known, values, np.nan)
        summed = join(*families)
        return Scores(summed.values(), per_report, summed=summed)

    def sums_of_labels(self, references: Sequence[str], labels: LabelMatrix) -> SummedMetrics:
        """The metrics of reports of which there are labels alone.

        Args:
            references: not looked at.
            labels: class indices, shape (N, 14).

        Returns:
            The metrics over the studies with gold labels, under each labeler's name.
        """
        return join(*(gold_efficacy_sums(self.gold, labels, labeler=one.name) for one in self.labelers))
