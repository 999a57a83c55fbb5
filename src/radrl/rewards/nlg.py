"""Words in common with the reference as a reward: BLEU, ROUGE-L and CIDEr (MRG-R1, table II)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

import numpy as np
from pycocoevalcap.cider.cider_scorer import precook
from pydantic import Field

from radrl.parts.section import Section
from radrl.scoring.ngrams import DocumentFrequencies, cider_scores
from radrl.scoring.nlg import PREPARATIONS, Preparation, nlg_scores

CIDER_MOST: Final = 10.0
"""CIDEr of a report with itself, as pycocoevalcap scales it."""

_AT_ONCE: Final = 4096
"""References whose n-grams are held at once."""


class NlgSection(Section):
    """How texts become tokens, and BLEU's order."""

    preparation: Preparation
    bleu: Annotated[int, Field(ge=1, le=4)]


class Nlg:
    """BLEU + ROUGE-L + CIDEr, the reward of MRG-R1's row NLG (its table II).

    The paper prints neither BLEU's order nor a scale. Here it is the mean of three numbers in [0, 1]: the
    report's own BLEU of the order given, its ROUGE-L, and a tenth of its CIDEr, which pycocoevalcap scales to
    [0, 10]. CIDEr weighs n-grams by how many reports have them: the references the arm trains on, which do
    not change from step to step. A reference without a token has no score.

    Args:
        references: of the films the arm trains on, at least two.
        preparation: of all texts, one of `radrl.scoring.nlg.PREPARATIONS`.
        bleu: order of BLEU, 1 to 4.

    Raises:
        ValueError: when there are fewer than two references.
    """

    Section = NlgSection
    name, clinical = "nlg", False
    reads: Literal["report", "output"] = "report"

    def __init__(self, references: Sequence[str], *, preparation: str, bleu: int) -> None:
        self.preparation, self.bleu = preparation, bleu
        self.told: Mapping[str, float] = {}
        self._cider = TrainingCider([PREPARATIONS[preparation](text) for text in references])

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`; `told` has the mean of each of the three."""
        prepare = PREPARATIONS[self.preparation]
        rows = [row for row, text in enumerate(references) if prepare(text).split()]
        scores = np.full(len(reports), math.nan)
        self.told = {}
        if rows:
            truth, found = ([texts[row] for row in rows] for texts in (references, reports))
            own = nlg_scores(truth, found, preparation=self.preparation, meteor=False).per_report
            cider = self._cider.score([prepare(text) for text in truth], [prepare(text) for text in found])
            three = {
                f"bleu{self.bleu}": own[f"nlg_bleu{self.bleu}"],
                "rougel": own["nlg_rougel"],
                "cider": np.array(cider) / CIDER_MOST,
            }
            self.told = {name: float(values.mean()) for name, values in three.items()}
            scores[rows] = np.mean(list(three.values()), axis=0)
        return [float(score) for score in scores]


class TrainingCider:
    """pycocoevalcap's CIDEr with document frequencies of a fixed set of references.

    Its own scorer counts them anew over the references at hand, so that a score would depend on the batch.

    Args:
        references: prepared texts, at least two; each is a document.

    Raises:
        ValueError: when there are fewer: every weight would be 0.
    """

    def __init__(self, references: Sequence[str]) -> None:
        if len(references) < 2:
            raise ValueError(
                f"CIDEr counts in how many references an n-gram stands, and there are {len(references)}; "
                "train on more films, or leave out the reward nlg"
            )
        self._frequencies = DocumentFrequencies()
        for start in range(0, len(references), _AT_ONCE):
            self._frequencies.add(references[start : start + _AT_ONCE])

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> list[float]:
        """Score reports.

        Args:
            references: N prepared references.
            hypotheses: the N generated reports, prepared in the same way.

        Returns:
            N scores in [0, 10].
        """
        truth, found = ([precook(text) for text in texts] for texts in (references, hypotheses))
        return cider_scores(truth, found, self._frequencies)
