"""Advantages by token: DEER, eq. 6 (DiTPO).

The weights come from `radrl.algorithms.tf_idf` (eq. 7 and 8), from `radrl.algorithms.saliency` (eq. 12), or
are all 1, which is GRPO.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite
from radrl.algorithms.f_measure import BoolArray, FloatArray

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


def content_tokens(token_ids: TokenIds, mask: npt.ArrayLike, special_ids: npt.ArrayLike) -> BoolArray:
    """Which tokens stand for text, and so may get another weight than 1.

    Args:
        token_ids: the policy's token ids, any shape.
        mask: which of them the policy wrote, padding left out, same shape; booleans, or 1 and 0.
        special_ids: ids of the special tokens, such as the one that ends a report.

    Returns:
        Booleans, same shape.

    Raises:
        ValueError: when the shapes differ.
    """
    written = np.asarray(mask).astype(np.bool_)
    if written.shape != np.shape(token_ids):
        raise ValueError(f"token ids have shape {np.shape(token_ids)}, their mask {written.shape}")
    return written & ~np.isin(token_ids, np.asarray(special_ids, np.int64))
