"""Clinical efficacy against gold labels: labelers read the generated reports, nobody reads the references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from radrl.evaluation.gold import Gold, gold_efficacy_sums, gold_labeler
from radrl.evaluation.summed import FloatArray, SummedMetrics, join
from radrl.labelers.base import Labeler, LabelMatrix
from radrl.scoring.base import Scores
from radrl.scoring.clinical import own_f1


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
        """See `radrl.scoring.base.Scorer`; a report whose study has no gold labels has NaN of its own.

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
