"""A credit."""

from __future__ import annotations

import numpy as np

from radrl.credit.base import Rollouts


def opening(
    rollouts: Rollouts, spans: list[np.ndarray], *, characters: int, factor: float = 2.0
) -> list[np.ndarray]:
    """Tokens that begin within the first `characters` of an output weigh `factor` times as much."""
    text = [own[:, 0] < own[:, 1] for own in spans]  # special tokens have empty spans
    early = [own[:, 0] < characters for own in spans]
    return [np.where(a & b, factor, 1.0) for a, b in zip(text, early, strict=True)]
