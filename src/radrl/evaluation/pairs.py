"""Every arm against every other one: the difference, and how sure the patients make it.

The comparison tests all arms against one of them. A claim may be about two others, such as an arm and a row
that needs no model; what several seeds say of it is pooled with the error kept here.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from radrl.evaluation.summed import Metrics


@dataclass(frozen=True, slots=True)
class Pair:
    """An arm minus another one on one metric.

    Args:
        metric: the metric's name.
        arm: the first of the two in the order of the table.
        other: the second.
        error: standard error of their difference over patients, the sample standard deviation of its
            replicates; NaN where the metric is undefined in a resample.
    """

    metric: str
    arm: str
    other: str
    error: float


def pair_errors(by_run: Mapping[str, Metrics]) -> list[Pair]:
    """The standard error over patients of the difference between any two arms.

    Args:
        by_run: by arm, `radrl.evaluation.bootstrap.replicates` of the same resamples of patients, at least
            two; of several runs the mean is taken.

    Returns:
        A line a metric and pair, A (A - 1) / 2 pairs for A arms.
    """
    means = {arm: {name: x.mean(axis=0) for name, x in own.items()} for arm, own in by_run.items()}
    return [
        Pair(metric, arm, other, float(np.std(means[arm][metric] - means[other][metric], ddof=1)))
        for arm, other in itertools.combinations(means, 2)
        for metric in means[arm]
    ]
