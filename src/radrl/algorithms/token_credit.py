"""Advantages by token: DEER, eq. 6 (DiTPO).

The weights come from `radrl.algorithms.tf_idf` (eq. 7 and 8), from `radrl.algorithms.saliency` (eq. 12), or
are all 1, which is GRPO.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite
from radrl.algorithms.f_measure import FloatArray

TokenIds = npt.NDArray[np.integer[Any]]


def token_advantages(advantages: npt.ArrayLike, weights: npt.ArrayLike) -> FloatArray:
    """A report's advantage, weighted token by token: DEER, eq. 6, A_i^t = A_i w_i^t.

    Args:
        advantages: A_i of each rollout, shape (..., N).
        weights: w_i^t of each token, 1 at padding and special tokens, shape (..., N, T).

    Returns:
        A_i^t, shape (..., N, T).

    Raises:
        ValueError: when the shapes do not fit, or a number is not finite.
    """
    report, token = finite(advantages, "advantage"), finite(weights, "weight")
    if token.shape[:-1] != report.shape:
        raise ValueError(
            f"advantages have shape {report.shape}, weights {token.shape}; give one row a rollout"
        )
    credit: FloatArray = report[..., np.newaxis] * token
    return credit
