"""Token weights by TF-IDF over the rollouts of one image: DEER, eq. 7 and 8 (DiTPO's rule).

The documents are the N rollouts of one image, the terms the policy's own token ids. The paper prints neither
the form of TF nor that of IDF; both are named here, with n_t the count of a token in its rollout, L the
rollout's counted tokens and d_t the rollouts that hold it:

- tf ``relative``: n_t / L; ``raw``: n_t.
- idf ``plain``: ln(N / d_t); ``smooth``: ln((1 + N) / (1 + d_t)); ``sklearn``: the smooth one plus 1, which
  is scikit-learn's TfidfTransformer at its defaults before it normalises rows.

What all rollouts say has an IDF of 0 (plain, smooth), so its weight is 1; with ``sklearn`` every token
weighs more than 1. At N = 8, alpha = 4 and 60 tokens, a word that one rollout says once weighs 1.14
(relative) or 9.3 (raw).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from radrl.algorithms.advantages import TokenIds
from radrl.algorithms.checks import require_choice
from radrl.algorithms.f_measure import FloatArray

TermFrequency = Literal["relative", "raw"]
InverseFrequency = Literal["plain", "smooth", "sklearn"]


def tf_idf(
    token_ids: TokenIds,
    counted: npt.ArrayLike,
    *,
    tf: TermFrequency = "relative",
    idf: InverseFrequency = "plain",
) -> FloatArray:
    """TF-IDF of every token within its group: DEER, eq. 7.

    All groups at once, in the time of sorting their tokens. A rollout without any counted token is still one
    of the N.

    Args:
        token_ids: ids of the N rollouts of each image, shape (..., N, T).
        counted: which tokens are text and not special, same shape.
        tf: form of the term frequency.
        idf: form of the inverse document frequency.

    Returns:
        TF-IDF, not negative, 0 at tokens that are not counted, shape (..., N, T).

    Raises:
        ValueError: when tf or idf is unknown or the shapes differ.
    """
    require_choice(tf, "tf", get_args(TermFrequency))
    require_choice(idf, "idf", get_args(InverseFrequency))
    ids, counts_here = np.asarray(token_ids), np.asarray(counted).astype(np.bool_)
    if ids.ndim < 2 or ids.shape != counts_here.shape:
        raise ValueError(
            f"token ids have shape {ids.shape}, counted {counts_here.shape}; give (..., N, T) twice"
        )
    rollouts, tokens = ids.shape[-2:]
    score = np.zeros(ids.shape)
    if not counts_here.any():
        return score
    row = np.flatnonzero(counts_here) // tokens  # rollout of each counted token, shape (M,)
    vocabulary, term = np.unique(ids[counts_here], return_inverse=True)
    size = len(vocabulary)
    pairs, pair, count = np.unique(row * size + term, return_inverse=True, return_counts=True)
    group_terms = pairs // size // rollouts * size + pairs % size  # one entry a rollout that holds the term
    _, group_term, holders = np.unique(group_terms, return_inverse=True, return_counts=True)
    frequency = count.astype(np.float64)
    if tf == "relative":
        frequency /= np.bincount(row)[pairs // size]
    score[counts_here] = (frequency * _idf(holders, rollouts, idf)[group_term])[pair]
    return score


def tf_idf_weights(
    token_ids: TokenIds,
    counted: npt.ArrayLike,
    *,
    alpha: float = 4.0,
    tf: TermFrequency = "relative",
    idf: InverseFrequency = "plain",
) -> FloatArray:
    """Weights of the policy's tokens: DEER, eq. 8, w = 1 + alpha TF-IDF.

    Args:
        token_ids: ids of the N rollouts of each image, shape (..., N, T).
        counted: which tokens are text, same shape.
        alpha: strength, not negative.
        tf: form of the term frequency.
        idf: form of the inverse document frequency.

    Returns:
        Weights, at least 1, and 1 at tokens that are not counted, shape (..., N, T).

    Raises:
        ValueError: when alpha is negative, tf or idf unknown, or the shapes differ.

    Example:
        >>> ids = np.array([[5, 6], [5, 7]])  # 5 in both rollouts; ln 2 / 2 for 6 and 7
        >>> tf_idf_weights(ids, np.ones_like(ids), alpha=1).round(4).tolist()
        [[1.0, 1.3466], [1.0, 1.3466]]
    """
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha is {alpha}; give a strength of at least 0")
    weights: FloatArray = 1.0 + alpha * tf_idf(token_ids, counted, tf=tf, idf=idf)
    return weights


def _idf(holders: npt.NDArray[np.int64], rollouts: int, idf: InverseFrequency) -> FloatArray:
    if idf == "plain":
        plain: FloatArray = np.log(rollouts / holders)
        return plain
    smooth: FloatArray = np.log((1 + rollouts) / (1 + holders))
    return smooth + 1.0 if idf == "sklearn" else smooth
