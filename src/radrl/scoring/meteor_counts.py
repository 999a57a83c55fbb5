"""METEOR for the comparison: counts a pair by the Java program, figures from their sums, hence intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from radrl.evaluation.meteor import METEOR, addable, meteor_of_counts
from radrl.evaluation.summed import FloatArray, SummedMetrics
from radrl.scoring.base import Scores, ScoringError
from radrl.scoring.meteor import MeteorProcess, meteor_missing
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
        process = _Process()
        with process:
            counts = process.counts([*map(self._prepare, references)], [*map(self._prepare, hypotheses)])
        summed = SummedMetrics(addable(counts), lambda sums: {METEOR: meteor_of_counts(sums)})
        return Scores(summed.values(), {METEOR: meteor_of_counts(addable(counts))}, {}, summed)


class _Process(MeteorProcess):
    def counts(self, references: Sequence[str], hypotheses: Sequence[str]) -> FloatArray:
        """The program's counts of each pair, shape (N, 23)."""
        lines = [self._counts(*pair).split() for pair in zip(references, hypotheses, strict=True)]
        return np.array(lines, np.float64)
