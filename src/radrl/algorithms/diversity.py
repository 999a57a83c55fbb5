"""Diagnostic diversity of a study's rollouts: DEER, eq. 3 (DDSampling)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from radrl.algorithms.f_measure import FloatArray, Labels, positives

StandardDeviation = Literal["population", "sample"]


def label_diversity(
    labels: Labels, *, std: StandardDeviation = "population", uncertain_as_positive: bool = False
) -> FloatArray:
    """How much the K rollouts of a study disagree about its labels.

    D = sum over labels c of sigma_c, the standard deviation over the K rollouts of the binary label c.
    It reads no reference report. The paper leaves the kind of standard deviation open.

    For k ones among K, sigma = sqrt(k (K - k)) / K; computed from the counts and summed in sorted order,
    so that two studies whose rollouts disagree equally on different labels tie exactly and the
    seeded shuffle of `log_rank` decides between them, not the last bit of a sum.

    Args:
        labels: class indices of the rollouts, shape (..., K, C).
        std: ``"population"`` divides by K, ``"sample"`` by K - 1.
        uncertain_as_positive: the reading of uncertain labels.

    Returns:
        D of each study, 0 when all its rollouts agree, shape (...).

    Raises:
        ValueError: when there are too few rollouts, std is unknown, or an entry is no class index.
    """
    positive = positives(labels, uncertain_as_positive=uncertain_as_positive)
    if positive.ndim < 2:
        raise ValueError(f"labels have shape {positive.shape}; give (..., K rollouts, C labels)")
    rollouts = positive.shape[-2]
    if rollouts < 2:
        raise ValueError(f"{rollouts} rollouts a study have no spread; draw at least 2")
    if std not in get_args(StandardDeviation):
        raise ValueError(f"unknown std {std!r}; valid: {', '.join(get_args(StandardDeviation))}")
    divisor = rollouts if std == "population" else rollouts - 1
    ones = positive.sum(axis=-2)
    sigma = np.sqrt(ones * (rollouts - ones) / (rollouts * divisor))  # (..., C)
    total: FloatArray = np.sort(sigma, axis=-1).sum(axis=-1)
    return total
