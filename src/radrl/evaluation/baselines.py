"""Rows that keep everyone honest: what needs no model, or no film, scores this much.

A constant normal report beats trained models on overlap metrics, and all labels positive has recall 1.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    training: npt.NDArray[np.floating], films: npt.NDArray[np.floating], *, chunk: int = 256
) -> npt.NDArray[np.int64]:
    """The training film nearest to each film by Euclidean distance, whose report is then the hypothesis.

    Args:
        training: M training films as vectors (thumbnails or features), shape (M, F).
        films: N films, shape (N, F).
        chunk: films compared at once, which bounds the memory.

    Returns:
        Index of the nearest training film, the first of equals, shape (N,).

    Raises:
        ValueError: when there is no training film or the vectors differ in length.
    """
    if training.ndim != 2 or films.ndim != 2 or len(training) == 0 or training.shape[1] != films.shape[1]:
        raise ValueError(f"films {films.shape} against training films {training.shape}; give (N, F), (M, F)")
    known = training.astype(np.float64)
    half_norms = 0.5 * np.sum(known**2, axis=1)
    # |x - t|^2 / 2 = |t|^2 / 2 - x.t + a constant of x
    parts = [
        np.argmin(half_norms - films[start : start + chunk].astype(np.float64) @ known.T, axis=1)
        for start in range(0, len(films), chunk)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
