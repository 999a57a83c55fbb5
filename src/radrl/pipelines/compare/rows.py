"""The rows of the comparison: the arms, what needs no model, and the references themselves as ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from radrl.evaluation import baselines
from radrl.evaluation.bootstrap import Interval, bootstrap_intervals
from radrl.evaluation.clinical_efficacy import clinical_efficacy_sums
from radrl.evaluation.comparison import ComparisonRow, compare
from radrl.evaluation.summed import FloatArray, Metrics, SummedMetrics
from radrl.labelers.base import Labeler, LabelMatrix
from radrl.scoring.nlg import nlg_scores

CEILING: Final = "reference_report"
TRIVIAL: Final = {
    "constant_normal_report": "the same normal report for every film",
    "every_label_positive": "labels that assert everything; no text",
    "random_training_report": "the report of a training film drawn at random",
}
"""Rows that read no film, and what they are."""

Family = Mapping[str, SummedMetrics]
"""One kind of metric (labels or words) by row."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One row's answers to the N films.

    Args:
        labels: class indices, shape (N, 14).
        reports: N texts; nothing for a row that has labels alone.
    """

    labels: LabelMatrix
    reports: Sequence[str] | None


def all_rows(
    arms: Mapping[str, pd.DataFrame], training: Sequence[str], labeler: Labeler, *, seed: int
) -> dict[str, Row]:
    """Every row of the table, arms first, the ceiling last.

    Args:
        arms: by arm, report and labels, all over the same films in the same order.
        training: training reports, for the row that draws from them.
        labeler: reads the rows that have no labels yet.
        seed: of that draw.

    Returns:
        The rows by name.

    Raises:
        ValueError: when an arm bears the name of another row.
    """
    if taken := arms.keys() & {*TRIVIAL, CEILING}:
        raise ValueError(
            f"arms.{min(taken)}: the table has a row of this name already; give the arm another one"
        )
    films = next(iter(arms.values()))
    normal = baselines.constant_normal_report(len(films))
    drawn = baselines.random_training_reports(training, len(films), seed=seed)
    rows = {
        arm: Row(np.stack(frame["labels"].to_list()), frame["report"].tolist()) for arm, frame in arms.items()
    }
    rows["constant_normal_report"] = Row(labeler.label(normal), normal)
    rows["every_label_positive"] = Row(baselines.every_label_positive(len(films)), None)
    rows["random_training_report"] = Row(labeler.label(drawn), drawn)
    rows[CEILING] = Row(np.stack(films["reference_labels"].to_list()), films["reference"].tolist())
    return rows


def label_metrics(rows: Mapping[str, Row], *, labeler: str) -> dict[str, SummedMetrics]:
    """Clinical efficacy of every row.

    Args:
        rows: of `all_rows`.
        labeler: name of the labeler, which is part of every metric's name.
    """
    truth = rows[CEILING].labels
    return {name: clinical_efficacy_sums(truth, row.labels, labeler=labeler) for name, row in rows.items()}


def word_metrics(rows: Mapping[str, Row], *, preparation: str) -> dict[str, SummedMetrics]:
    """Overlap of words of every row that has texts.

    Args:
        rows: of `all_rows`.
        preparation: of the texts.
    """
    texts = {name: row.reports for name, row in rows.items() if row.reports is not None}
    return {
        name: nlg_scores(texts[CEILING], reports, preparation=preparation, meteor=False).summed
        for name, reports in texts.items()
    }


def tabulate(
    families: Sequence[Family],
    metrics: Sequence[str],
    patients: Sequence[str],
    *,
    reference: str,
    bootstrap: Mapping[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Compare the rows on the metrics.

    Args:
        families: label metrics and word metrics.
        metrics: which of them, in the order of the table.
        patients: the patient of each film.
        reference: the arm the others are tested against.
        bootstrap: resamples and confidence.
        seed: of the resamples.

    Returns:
        A line a row and metric: arm, kind (arm, trivial or ceiling), metric, value with its interval, number
        of runs, difference from the reference arm with interval, p and Holm's p over the arms, and the
        trivial rows that beat it.
    """
    lines: list[dict[str, Any]] = []
    for family in families:
        ceiling = _only(family[CEILING], metrics)
        own = {name: _only(one, metrics) for name, one in family.items() if name != CEILING}
        options = {"resamples": bootstrap["resamples"], "level": bootstrap["confidence"], "seed": seed}
        found = compare(
            {name: [one] for name, one in own.items()},
            patients,
            reference=reference,
            trivial=[name for name in TRIVIAL if name in own],
            **options,
        )
        lines += [_line(row) for row in found]
        # apart from `compare`, whose Holm correction would count the ceiling as one more hypothesis
        at_most = bootstrap_intervals([ceiling], patients, **options)
        lines += [_value(CEILING, "ceiling", metric, value, runs=1) for metric, value in at_most.items()]
    order = {name: i for i, name in enumerate([*families[0]])}
    frame = pd.DataFrame(lines).assign(
        _row=lambda t: t["arm"].map(order), _column=lambda t: t["metric"].map(list(metrics).index)
    )
    return frame.sort_values(["_row", "_column"]).drop(columns=["_row", "_column"]).reset_index(drop=True)


def _only(family: SummedMetrics, metrics: Sequence[str]) -> SummedMetrics:
    def of_sums(sums: FloatArray) -> Metrics:
        found = family.of_sums(sums)
        return {name: found[name] for name in metrics if name in found}

    return SummedMetrics(family.per_study, of_sums)


def _line(row: ComparisonRow) -> dict[str, Any]:
    line = _value(row.arm, "trivial" if row.trivial else "arm", row.metric, row.value, row.runs)
    if row.difference is not None:
        line |= {
            "difference": row.difference.difference,
            "difference_low": row.difference.low,
            "difference_high": row.difference.high,
            "p": row.difference.p_bootstrap,
            "p_holm": row.p_holm,
        }
    return line | {"beaten_by": " ".join(row.beaten_by) or None}


def _value(arm: str, kind: str, metric: str, value: Interval, runs: int) -> dict[str, Any]:
    return {
        "arm": arm,
        "kind": kind,
        "metric": metric,
        "value": value.estimate,
        "low": value.low,
        "high": value.high,
        "runs": runs,
    }
