"""From probabilities to labels: per label the threshold with the best F1.

They are chosen on the films that were learned from, never on those that are scored. Films held out for it
would give worse ones, although a reader is a little too sure of those it knows: a rare label has 700
positives among 8,000 drawn films and 60 among 750 more, and the best threshold of so few is that of some
lucky films. On 750 others the network's macro F1 was 0.830 with the former's thresholds, 0.821 with the
latter's.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from radrl.algorithms.f_measure import BoolArray, ratio
from radrl.readers.base import Probabilities


def best_f1(probabilities: Probabilities, targets: BoolArray) -> npt.NDArray[np.float64]:
    """Each label's threshold with the best F1; a label is there where its probability reaches it.

    Args:
        probabilities: of N samples, shape (N, C).
        targets: whether they have the labels, shape (N, C).

    Returns:
        The highest of the best thresholds, half way to the next lower probability, shape (C,); infinity for a
        label that no sample has.

    Example:
        >>> best_f1(np.array([[0.9], [0.5], [0.1]]), np.array([[True], [True], [False]])).tolist()
        [0.3]
    """
    columns = zip(probabilities.T, targets.T, strict=True)
    return np.array([_best(*column) for column in columns])


def _best(probabilities: npt.NDArray[np.float64], targets: BoolArray) -> float:
    if not targets.any():
        return np.inf
    order = np.argsort(-probabilities, kind="stable")
    falling, hits = probabilities[order], np.cumsum(targets[order])  # (N,)
    predicted = np.arange(1, len(order) + 1)
    f1 = ratio(2 * hits, predicted + hits[-1], 0.0)
    following = np.append(falling[1:], -1.0)  # below every probability
    f1[falling == following] = -1.0  # equal probabilities are on one side of every threshold
    best = int(np.argmax(f1))
    return float((falling[best] + following[best]) / 2)
