"""Rows that keep everyone honest: what needs no model, or no film, scores this much.

A constant normal report beats trained models on overlap metrics, and all labels positive has recall 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from radrl.observations import OBSERVATIONS, POSITIVE

NORMAL_REPORT: Final = (
    "The heart size is normal. The mediastinal contours are within normal limits. The lungs are clear. "
    "There is no pleural effusion or pneumothorax. No acute osseous abnormality."
)
"""An ordinary normal chest report of our own wording."""


def constant_normal_report(studies: int, text: str = NORMAL_REPORT) -> list[str]:
    """The same normal report for every study.

    Args:
        studies: N.
        text: the report.

    Returns:
        N reports.
    """
    return [text] * studies


def every_label_positive(studies: int) -> npt.NDArray[np.int8]:
    """Labels of an impossible report that asserts everything: recall 1 at the lowest precision.

    Args:
        studies: N.

    Returns:
        Class indices, all positive, shape (N, 14).
    """
    return np.full((studies, len(OBSERVATIONS)), POSITIVE, dtype=np.int8)


def random_training_reports(training: Sequence[str], studies: int, *, seed: int) -> list[str]:
    """A training report drawn at random for every study: the right prose and prevalence, no film read.

    Args:
        training: training reports to draw from, with replacement.
        studies: N.
        seed: decides the draw.

    Returns:
        N reports.

    Raises:
        ValueError: when there is no training report.
    """
    if not training:
        raise ValueError("there is no training report to draw from")
    return [training[i] for i in np.random.default_rng(seed).integers(len(training), size=studies)]


def nearest_films(
    films: npt.NDArray[np.integer], training: Iterable[npt.NDArray[np.integer]]
) -> npt.NDArray[np.int64]:
    """The training film nearest to each film by Euclidean distance, whose report is then the hypothesis.

    Args:
        films: N films as vectors of whole numbers (thumbnails), shape (N, F).
        training: the training films in any number of parts, shape (M, F) each; one part is held at a time.
            How they are parted changes nothing: squared distances of 8-bit vectors are whole numbers far
            below 2^53, hence exact in doubles.

    Returns:
        Index of the nearest training film over all parts, the first of equals, shape (N,).

    Raises:
        ValueError: when there is no training film or the vectors differ in length.
    """
    known = films.astype(np.float64)
    least = np.full(len(films), np.inf)
    nearest = np.zeros(len(films), dtype=np.int64)
    seen = 0
    for part in training:
        if films.ndim != 2 or part.ndim != 2 or part.shape[1] != films.shape[1]:
            raise ValueError(f"films {films.shape}, training films {part.shape}; give (N, F) and (M, F)")
        candidates = part.astype(np.float64)
        # |x - t|^2 = |t|^2 - 2 x.t + a constant of x; (N, M)
        distances = np.sum(candidates**2, axis=1) - 2 * known @ candidates.T
        first = np.argmin(distances, axis=1)
        distance = distances[np.arange(len(films)), first]
        closer = distance < least
        least[closer], nearest[closer] = distance[closer], seen + first[closer]
        seen += len(part)
    if not seen:
        raise ValueError("there is no training film to compare with")
    return nearest
