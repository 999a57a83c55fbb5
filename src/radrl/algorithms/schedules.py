"""Weights that change while a policy trains: the two phases of DEER's reward (text after eq. 1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import rates
from radrl.algorithms.f_measure import FloatArray


def two_phase(
    share: npt.ArrayLike, *, phase_switch: float = 0.5, first: float = 0.0, second: float = 0.25
) -> FloatArray:
    """A weight that is one number before a switch and another from there on.

    DEER learns on clinical F1 alone (gamma 0), then on F1 + 0.25 BLEU-2 (its table 5); the paper does not say
    when the switch comes. From a switch of 0 on both terms count from the first step.

    Args:
        share: share of the steps already done, in [0, 1], any shape; step t of T (from 0) has t / T.
        phase_switch: share of the steps at which the second phase begins, in [0, 1].
        first: weight in the first phase.
        second: weight in the second phase.

    Returns:
        The weight at each share, same shape.

    Raises:
        ValueError: when a share or the switch lies outside [0, 1].

    Example:
        >>> two_phase([0.0, 0.49, 0.5])
        array([0.  , 0.  , 0.25])
    """
    done = rates(share, "share of steps")
    switch = rates(phase_switch, "phase_switch")
    weight: FloatArray = np.where(done >= switch, np.float64(second), np.float64(first))
    return weight
