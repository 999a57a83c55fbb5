"""Scores that are a value a report: their check of the pairs and their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from radrl.evaluation.summed import mean_metrics
from radrl.scoring.base import Scores


def require_pairs(references: Sequence[str], hypotheses: Sequence[str]) -> None:
    """Refuse what is no list of pairs.

    Args:
        references: N reference reports.
        hypotheses: as many generated ones.

    Raises:
        ValueError: the lengths differ or there is no report.
    """
    if len(references) != len(hypotheses) or not references:
        raise ValueError(f"{len(references)} references, {len(hypotheses)} hypotheses; give a pair a study")


def means_of(values: Mapping[str, Sequence[float]]) -> Scores:
    """Scores of which each is its mean over the reports.

    Args:
        values: by metric name, one value a report, shape (N,) each.

    Returns:
        The means, the values, and the means as functions of sums.
    """
    per_report = {name: np.asarray(given, np.float64) for name, given in values.items()}
    means = mean_metrics(per_report)
    return Scores(means.values(), per_report, summed=means)
