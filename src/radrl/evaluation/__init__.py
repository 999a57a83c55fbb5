"""Metrics and statistics as pure functions: what a report is worth, and what a difference is worth.

Lives here: metrics over labels and texts that are given, intervals, tests, tables of arms. No model and no
framework.

Corpus metrics are functions of sums over studies: micro F1, sample-wise F1, corpus BLEU, each is some
function of numbers that add up. Written so, a point estimate is the function of the total, a bootstrap
resample the function of a reweighted total, and a thousand resamples are one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radrl.algorithms.f_measure import ratio

FloatArray = npt.NDArray[np.float64]
Metrics = dict[str, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class SummedMetrics:
    """A family of metrics over the same N studies.

    Args:
        per_study: what each study adds, shape (N, D).
        of_sums: maps sums over studies, shape (..., D), to the metrics by name, each of shape (...).
    """

    per_study: FloatArray
    of_sums: Callable[[FloatArray], Metrics]

    def __post_init__(self) -> None:
        if self.per_study.ndim != 2 or len(self.per_study) == 0:
            raise ValueError(f"statistics have shape {self.per_study.shape}; give at least one study's row")
        bad = np.argwhere(~np.isfinite(self.per_study))
        if bad.size:
            study, column = (int(i) for i in bad[0])
            raise ValueError(f"statistic {column} of study {study} is {self.per_study[study, column]}")

    def values(self) -> dict[str, float]:
        """The metrics over all studies."""
        return {name: float(value) for name, value in self.of_sums(self.per_study.sum(axis=0)).items()}

    def part(self, studies: slice) -> SummedMetrics:
        """The same metrics over a run of the studies, at least one."""
        return SummedMetrics(self.per_study[studies], self.of_sums)


class RunningSum:
    """Statistics summed over studies that come in parts, to the last bit as over all of them at once."""

    def __init__(self) -> None:
        self._sums: FloatArray | None = None

    def add(self, per_study: FloatArray) -> None:
        """Add what some studies add, shape (N, D), D at least 2: NumPy then sums row after row."""
        rows = per_study if self._sums is None else np.concatenate([self._sums[np.newaxis], per_study])
        self._sums = rows.sum(axis=0)

    @property
    def sums(self) -> FloatArray:
        """The sums, shape (D,)."""
        if self._sums is None:
            raise ValueError("nothing was added; give at least one study")
        return self._sums

    def values(self, of_sums: Callable[[FloatArray], Metrics]) -> dict[str, float]:
        """Metrics of the sums, by name."""
        return {name: float(value) for name, value in of_sums(self.sums).items()}


def mean_metrics(values: Mapping[str, npt.ArrayLike], *, missing: bool = False) -> SummedMetrics:
    """Metrics that are plain means of one value a study (ROUGE-L, CIDEr, a reward).

    Args:
        values: by metric name, one value per study, shape (N,) each.
        missing: whether a NaN stands for a study without this value, which the metric's mean leaves out.

    Returns:
        The family of their means; a mean of no value is NaN.

    Raises:
        ValueError: when a value is not finite (NaN with `missing` excepted) or the lengths differ.
    """
    names = list(values)
    given = np.column_stack([np.asarray(values[name], np.float64) for name in names])  # (N, metrics)
    counted = ~np.isnan(given) if missing else np.ones_like(given, dtype=bool)
    per_study = np.concatenate([np.where(counted, given, 0.0), counted], axis=1)

    def of_sums(sums: FloatArray) -> Metrics:
        means = ratio(sums[..., : len(names)], sums[..., len(names) :], math.nan)
        return {name: means[..., i] for i, name in enumerate(names)}

    return SummedMetrics(per_study, of_sums)


def restricted(family: SummedMetrics, kept: npt.NDArray[np.bool_]) -> SummedMetrics:
    """The same metrics over some of the studies.

    Args:
        family: over N studies.
        kept: which of them count, shape (N,).

    Returns:
        A family over these.

    Raises:
        ValueError: when `kept` is not one Boolean a study, or keeps none.
    """
    if kept.shape != (len(family.per_study),):
        raise ValueError(f"kept has shape {kept.shape}; give ({len(family.per_study)},), one a study")
    return SummedMetrics(family.per_study[kept], family.of_sums)


def join(*families: SummedMetrics) -> SummedMetrics:
    """Several families over the same studies as one.

    Args:
        families: over the same N studies in the same order.

    Returns:
        One family with all their metrics.

    Raises:
        ValueError: when the numbers of studies differ. A name that two families share raises when the
            metrics are computed.
    """
    _require_same_studies(families)
    ends = np.cumsum([family.per_study.shape[1] for family in families])

    def of_sums(sums: FloatArray) -> Metrics:
        together: Metrics = {}
        for family, part in zip(families, np.split(sums, ends[:-1], axis=-1), strict=True):
            found = family.of_sums(part)
            if twice := together.keys() & found.keys():
                raise ValueError(f"metrics named twice: {', '.join(sorted(twice))}")
            together |= found
        return together

    return SummedMetrics(np.concatenate([family.per_study for family in families], axis=1), of_sums)


def _require_same_studies(families: Sequence[SummedMetrics]) -> None:
    sizes = [len(family.per_study) for family in families]
    if len(set(sizes)) != 1:
        raise ValueError(f"families cover {sizes} studies; all must cover the same studies in the same order")
