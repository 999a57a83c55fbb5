"""From probabilities to labels: per label the threshold with the best F1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from radrl.algorithms.f_measure import BoolArray, ratio
from radrl.readers.base import Probabilities

ENOUGH: Final = 50
"""Validation films with a label that its threshold is chosen on. The best one of fewer is that of a few lucky
films; training films are many, and read only a little too surely, which moves a threshold less."""

Thresholds = npt.NDArray[np.float64]
"""A label is there where its probability reaches its threshold, shape (14,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Samples whose labels are known and were read.

    Args:
        probabilities: as read, shape (N, 14).
        targets: as known, shape (N, 14).
    """

    probabilities: Probabilities
    targets: BoolArray


def choose(training: Read, validation: Read | None) -> Thresholds:
    """Choose each label's threshold, never on the films that are scored.

    Args:
        training: the samples that were learned from.
        validation: samples that were not; nothing where there are none, or they are the ones that are scored.

    Returns:
        The thresholds, of the validation samples for labels that `ENOUGH` of them have.
    """
    found = best_f1(training)
    if validation is None:
        return found
    return np.where(validation.targets.sum(axis=0) >= ENOUGH, best_f1(validation), found)


def best_f1(read: Read) -> Thresholds:
    """Each label's threshold with the best F1 on some samples.

    Args:
        read: the samples.

    Returns:
        The highest of the best thresholds, half way to the next lower probability; infinity for a label that
        no sample has.
    """
    columns = zip(read.probabilities.T, read.targets.T, strict=True)
    return np.array([_best(probabilities, targets) for probabilities, targets in columns])


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
