"""What reads labels off the films of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from radrl.algorithms.f_measure import BoolArray

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
