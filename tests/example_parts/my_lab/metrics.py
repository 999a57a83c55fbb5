"""A metric."""

from __future__ import annotations

from collections.abc import Sequence


def length_ratio(references: Sequence[str], hypotheses: Sequence[str], *, most: float = 2.0) -> list[float]:
    """Words of a report per word of its reference, `most` at most."""
    pairs = zip(references, hypotheses, strict=True)
    return [min(most, len(text.split()) / max(1, len(truth.split()))) for truth, text in pairs]
