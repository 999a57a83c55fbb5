"""What is drawn at random after training, each from a stream of its own."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Draw(IntEnum):
    """What is drawn; its number tells the streams of one seed apart.

    A number that was used once stays: another one would change every result. 1 was that of runs within an arm
    and is not given again.
    """

    PATIENTS = 0
    """Those of a bootstrap resample."""
    SWAPS = 2
    """Of approximate randomisation."""
    SHOWN_FILMS = 3
    """On the page of the comparison."""
    MASKED_TOKENS = 4
    """Those of the random row, and which of equal weights."""
    MASKED_FILMS = 5
    """Whose rollouts are masked."""
    POOLED_FILMS = 6
    """Where a pool has more than are asked for."""
    WEIGHTED_FILMS = 7
    """On the page of token weights."""
    FITTED_FILMS = MASKED_TOKENS
    """Those that a reader of films learns from: another stage than that of the masked tokens."""


def generator(seed: int, draw: Draw) -> np.random.Generator:
    """The random numbers of one draw.

    Args:
        seed: of the study.
        draw: what they decide.
    """
    return np.random.default_rng([seed, int(draw)])
