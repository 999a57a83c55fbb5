"""A report's own clinical F1 and F-beta, over the labels of one report.

Rewards and metrics both read labels through `positives` and divide through `ratio`, so that a reward and
the metric that judges it cannot disagree about what a positive label or an empty denominator is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from radrl.observations import POSITIVE, UNCERTAIN

Labels = npt.NDArray[np.integer[Any]]
"""Class indices (0 blank, 1 positive, 2 negative, 3 uncertain); the last axis runs over the observations."""

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer[Any]]


def positives(labels: Labels, *, uncertain_as_positive: bool = False) -> BoolArray:
    """Read class indices as positive or not.

    Published work uses both readings: {1} in PromptMRG, R2Gen and CXRMate, {1, 3} in f1chexbert,
    RadEval and ORGan.

    Args:
        labels: class indices, any shape.
        uncertain_as_positive: whether an uncertain mention counts as positive.

    Returns:
        Booleans of the same shape.

    Raises:
        ValueError: when an entry is no class index, with its place.
    """
    labels = np.asarray(labels)
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"labels are {labels.dtype}; give integer class indices 0 to {UNCERTAIN}")
    outside = np.argwhere((labels < 0) | (labels > UNCERTAIN))
    if outside.size:
        place = tuple(int(i) for i in outside[0])
        raise ValueError(f"label at {place} is {labels[place]}; class indices run from 0 to {UNCERTAIN}")
    return np.isin(labels, [POSITIVE, UNCERTAIN] if uncertain_as_positive else [POSITIVE])


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike, undefined: float) -> FloatArray:
    """Divide, with a stated value where the denominator is 0.

    Args:
        numerator: any shape.
        denominator: a shape that broadcasts with it, nowhere negative.
        undefined: the value of 0 / 0; NaN marks it as undefined.

    Returns:
        The quotients, in the broadcast shape.
    """
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient: FloatArray = np.divide(top, bottom, out=np.full(top.shape, undefined), where=bottom > 0)
    return quotient


def report_f1(
    reference: Labels, hypothesis: Labels, *, both_empty: float = 1.0, uncertain_as_positive: bool = False
) -> FloatArray:
    """Sample-wise F1 of each report over its labels: the clinical term of DEER, eq. 1.

    F1 = 2 TP / (2 TP + FP + FN). Where neither report has a positive label this is 0 / 0: PromptMRG's
    metric takes 0 there; as a reward 1 is the default, because a correct normal report must be worth
    more than a wrong abnormal one.

    Args:
        reference: class indices of N reference reports, shape (N, C).
        hypothesis: class indices of the N generated reports, shape (N, C).
        both_empty: F1 of a pair in which neither report has a positive label.
        uncertain_as_positive: the reading of uncertain labels.

    Returns:
        One F1 per report, in [0, 1], shape (N,).

    Raises:
        ValueError: when the shapes differ or an entry is no class index.

    Example:
        >>> report_f1(np.array([[1, 1, 0]]), np.array([[1, 0, 1]]))
        array([0.5])
    """
    _require_same_shape(reference, hypothesis)
    truth = positives(reference, uncertain_as_positive=uncertain_as_positive)
    found = positives(hypothesis, uncertain_as_positive=uncertain_as_positive)
    agreed = (truth & found).sum(axis=-1)
    return ratio(2 * agreed, truth.sum(axis=-1) + found.sum(axis=-1), both_empty)


def f_beta(
    precision: npt.ArrayLike, recall: npt.ArrayLike, *, beta: float = 1.5, xi: float = 1e-8
) -> FloatArray:
    """F-beta of the FactS reward: OraPO, eq. 15.

    F = (1 + beta^2) P R / (beta^2 P + R + xi). The paper does not print beta and says that recall weighs
    more; xi makes P = R = 0 give 0, and keeps a perfect report an xi below 1.

    Args:
        precision: in [0, 1], any shape.
        recall: in [0, 1], same shape.
        beta: weight of recall, above 1 to favour it.
        xi: stabiliser of the denominator, above 0.

    Returns:
        F-beta, same shape.

    Raises:
        ValueError: when beta or xi is not above 0, or a precision or recall lies outside [0, 1].
    """
    if not (beta > 0 and xi > 0):
        raise ValueError(f"beta is {beta} and xi is {xi}; both must be above 0")
    p, r = np.asarray(precision, np.float64), np.asarray(recall, np.float64)
    for name, values in (("precision", p), ("recall", r)):
        if not bool(np.all((values >= 0) & (values <= 1))):
            raise ValueError(f"{name} holds a value outside [0, 1]: {values}")
    score: FloatArray = (1 + beta**2) * p * r / (beta**2 * p + r + xi)
    return score


def _require_same_shape(reference: Labels, hypothesis: Labels) -> None:
    if np.shape(reference) != np.shape(hypothesis):
        raise ValueError(
            f"reference labels have shape {np.shape(reference)}, hypothesis labels {np.shape(hypothesis)}; "
            "give one row of each per study, in the same order"
        )
