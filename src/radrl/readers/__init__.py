"""Labels read off films, without a report: what stands above the arms.

Lives here: models and probes that see a film and give labels, with their thresholds. They write no text.
Their rows in the tables are named here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from radrl.algorithms.f_measure import BoolArray, ratio

NETWORK: Final = "label_network"
PROBE: Final = "tower_probe"
PROBE_OF_BASE: Final = "tower_probe_base"
READERS: Final = {
    NETWORK: "a small network trained on labels; writes no text",
    PROBE: "a linear probe of the cold start's frozen tower; writes no text",
    PROBE_OF_BASE: "a linear probe of the base policy's frozen tower; writes no text",
}
"""Names, and what they are, in the order of the tables."""

Films = Sequence[bytes]
"""The films of one sample as PNG bytes: one, or all of a study."""

Probabilities = npt.NDArray[np.float64]
"""Of each label on each sample, shape (N, 14)."""

Prepared = TypeVar("Prepared")


class Reader(Protocol[Prepared]):
    """Learns labels from films, and reads them off others."""

    def prepare(self, samples: Sequence[Films]) -> Prepared:
        """What is needed of the films of N samples, made once for fitting and reading."""

    def fit(self, prepared: Prepared, targets: BoolArray) -> None:
        """Learn the labels of N samples, shape (N, 14)."""

    def probabilities(self, prepared: Prepared) -> Probabilities:
        """Read N samples; of a sample with several films their mean counts."""

    @property
    def parameters(self) -> int:
        """Numbers that fitting sets."""


def mean_of_films(values: npt.NDArray[np.floating], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Average over the films of each sample.

    Args:
        values: of F films, sample after sample, shape (F, C).
        counts: films of each sample, at least one, shape (N,).

    Returns:
        The means, shape (N, C).

    Example:
        >>> mean_of_films(np.array([[1.0], [3.0], [5.0]]), np.array([2, 1])).tolist()
        [[2.0], [5.0]]
    """
    starts = np.cumsum(counts) - counts
    sums: npt.NDArray[np.float64] = np.add.reduceat(values.astype(np.float64), starts, axis=0)
    return sums / counts[:, np.newaxis]


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
