"""Texts in the two forms in which metrics read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """N texts.

    Args:
        wording: as a paper's cleaning leaves them, for metrics that count words in common.
        clinical: what all others read, that look for findings; the same where nothing is cleaned.
    """

    wording: Sequence[str]
    clinical: Sequence[str]

    def of(self, scorer: object) -> Sequence[str]:
        """The form that a scorer reads: `wording` where its attribute `wording` is true."""
        return self.wording if getattr(scorer, "wording", False) else self.clinical
