"""Absence of repeated n-grams in a report, as a reward (CXRMate-2's fourth one)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from radrl.parts.section import PositiveInt, Section


class RepetitionSection(Section):
    """How many words an n-gram has; CXRMate-2 takes trigrams of its tokenizer's tokens."""

    n: PositiveInt = 3


class Repetition:
    """1 - repeated / all n-grams of a report's words; repeated is the sum of count - 1 over different ones.

    CXRMate-2 (arXiv:2604.18967) counts trigrams so; its authors' code cuts texts by the policy's tokenizer,
    here words are parted by blanks, in lower case. A report of fewer than n words repeats nothing and earns
    1, the empty one too: it belongs beside a part that judges what the words are.

    Args:
        n: words of an n-gram.
    """

    Section = RepetitionSection
    name, clinical = "repetition", False
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, *, n: int = 3) -> None:
        self._n = n

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`; references are not read."""
        return [self._absence(report.lower().split()) for report in reports]

    def _absence(self, words: Sequence[str]) -> float:
        counts = Counter(tuple(words[i : i + self._n]) for i in range(len(words) - self._n + 1))
        return len(counts) / counts.total() if counts else 1.0
