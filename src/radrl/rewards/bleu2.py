"""BLEU-2 of a report as a reward (DEER, eq. 1, second term)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from radrl.parts.section import Section, Share
from radrl.scoring.ngrams import sentence_bleu2
from radrl.scoring.nlg import PREPARATIONS, Preparation


class Bleu2Section(Section):
    """How texts become tokens; the paper's weight is 0.25, in its second phase, so that an arm gives that."""

    preparation: Preparation
    phase_switch: Share


class Bleu2:
    """BLEU-2 of a report: the second term of DEER eq. 1; a reference without a token has no score.

    Args:
        preparation: of both texts, one of `radrl.scoring.nlg.PREPARATIONS`.
    """

    Section = Bleu2Section
    name, clinical = "bleu2", False
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, *, preparation: str) -> None:
        self.prepare = PREPARATIONS[preparation]

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`."""
        pairs = zip(map(self.prepare, references), map(self.prepare, reports), strict=True)
        return [sentence_bleu2(truth, found) if truth.split() else math.nan for truth, found in pairs]
