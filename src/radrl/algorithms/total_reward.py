"""A report's total reward as the papers sum it: DEER, eq. 1; MRG-R1, section on implementation.

The sum's terms come from elsewhere: clinical F1 from `radrl.algorithms.f_measure`, BLEU-2 from
`radrl.scoring.nlg`, MCCS from `radrl.algorithms.mccs`, the format's credit from `radrl.reports.think_report`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import rates, same_shape
from radrl.algorithms.f_measure import FloatArray


def clinical_and_bleu(f1: npt.ArrayLike, bleu2: npt.ArrayLike, *, gamma: npt.ArrayLike) -> FloatArray:
    """Sum clinical F1 and language: DEER, eq. 1, r_i = F1(C(o_i), C(y)) + gamma BLEU-2(o_i, y).

    Args:
        f1: each report's own F1 over its labels, in [0, 1], shape (N,).
        bleu2: each report's BLEU-2, in [0, 1], shape (N,).
        gamma: weight of BLEU-2, not negative; `radrl.algorithms.schedules.two_phase` gives it by step.

    Returns:
        Rewards in [0, 1 + gamma], shape (N,).

    Raises:
        ValueError: when a score lies outside [0, 1], the shapes differ or gamma is negative.
    """
    clinical, language = rates(f1, "F1"), rates(bleu2, "BLEU-2")
    same_shape(f1=clinical, bleu2=language)
    weight = np.asarray(gamma, np.float64)
    if not np.all(weight >= 0):
        raise ValueError(f"gamma is {weight}; give a weight of at least 0")
    total: FloatArray = clinical + weight * language
    return total


def clinical_and_format(
    clinical: npt.ArrayLike,
    form: npt.ArrayLike,
    *,
    clinical_weight: float = 0.75,
    format_weight: float = 0.25,
) -> FloatArray:
    """Sum the clinical and the format reward: MRG-R1, 0.75 MCCS + 0.25 format, an equation without number.

    Args:
        clinical: each output's clinical reward, in [0, 1], shape (N,).
        form: each output's format credit, in [0, 1], shape (N,).
        clinical_weight: share of the first.
        format_weight: share of the second.

    Returns:
        Rewards, in [0, 1] when the weights sum to 1, shape (N,).

    Raises:
        ValueError: when a score lies outside [0, 1], the shapes differ or a weight is negative.
    """
    said, shaped = rates(clinical, "clinical reward"), rates(form, "format credit")
    same_shape(clinical=said, form=shaped)
    if not (clinical_weight >= 0 and format_weight >= 0):
        raise ValueError(f"weights are {clinical_weight} and {format_weight}; both must be at least 0")
    total: FloatArray = clinical_weight * said + format_weight * shaped
    return total
