"""METEOR for the comparison: counts a pair by the Java program, figures from their sums, hence intervals."""

from __future__ import annotations

from collections.abc import Sequence

from radrl.evaluation.meteor import METEOR, addable, meteor_of_counts
from radrl.evaluation.summed import SummedMetrics
from radrl.scoring.base import Scores, ScoringError
from radrl.scoring.meteor import MeteorProcess, meteor_missing
from radrl.scoring.meteor_table import Texts
from radrl.scoring.nlg import PREPARATIONS


class MeteorCounts:
    """METEOR alone, as a scorer.

    Args:
        preparation: of texts, as the family nlg has it.
    """

    name = METEOR

    def __init__(self, preparation: str) -> None:
        self._prepare = PREPARATIONS[preparation]

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `radrl.scoring.base.Scorer`.

        Raises:
            ScoringError: when METEOR cannot run here.
            RuntimeError: when its Java process fails.
        """
        if missing := meteor_missing():
            raise ScoringError(f"{METEOR} cannot be had here: {missing}; install it, or leave the metric out")
        truth, found = ([*map(self._prepare, side)] for side in (references, hypotheses))
        known = Texts()
        known.add(truth)
        with MeteorProcess(references=known.all()) as process:
            counts = addable(process.counts(truth, found))
        summed = SummedMetrics(counts, lambda sums: {METEOR: meteor_of_counts(sums)})
        return Scores(summed.values(), {METEOR: meteor_of_counts(counts)}, {}, summed)
