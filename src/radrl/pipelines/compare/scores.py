"""Scores of the comparison's rows: what eval stored where that is enough, the scorers where it is not.

Eval has scored the arms, with a judge at some cost. Where a metric is the mean of its reports' own values,
these are enough for intervals and tests, and no scorer is asked again. Micro and macro F1 and BLEU are
functions of pooled counts, so their scorers are asked, which is cheap: labels that eval stored are not read
again. Rows that need no model are scored here, by the scorers of the metrics in the table alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from radrl.evaluation.clinical_efficacy import clinical_efficacy_sums
from radrl.evaluation.summed import FloatArray, Metrics, SummedMetrics, join, mean_metrics
from radrl.labelers.base import Labeler, LabelMatrix
from radrl.labelers.build import build as build_labeler
from radrl.pipelines.compare.rows import Row, RowScores
from radrl.pipelines.eval.names import unknown_metric
from radrl.scoring.base import Scorer, Scores
from radrl.scoring.build import build as build_scorers
from radrl.scoring.clinical import ClinicalEfficacy

POOLED: Final = ("ce", "nlg")
"""Families with metrics that are no means of the reports' own values."""

ERROR_COUNTS: Final = {
    "green": ("green", "green_matched"),
    "green_rules": ("green_rules", "green_rules_matched"),
}
"""Families of which more is worse, but for these metrics."""


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The metrics of the table that one scorer gives.

    Args:
        metrics: their names.
        scorer: gives them.
        pooled: whether they are functions of pooled counts rather than means.
    """

    metrics: Sequence[str]
    scorer: Scorer
    pooled: bool


class Remembering:
    """A labeler that reads a text once: rows share the references, and trivial rows repeat their texts.

    Args:
        labeler: reads what is not known yet.
        known: labels by text, each of shape (14,).
    """

    def __init__(self, labeler: Labeler, known: Mapping[str, LabelMatrix]) -> None:
        self.name = labeler.name
        self._labeler = labeler
        self._known = dict(known)

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """See `radrl.labelers.base.Labeler`."""
        new = [text for text in dict.fromkeys(reports) if text not in self._known]
        if new:
            self._known.update(zip(new, self._labeler.label(new), strict=True))
        return np.stack([self._known[text] for text in reports])


def group_names(metrics: Sequence[str], settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Sort metrics by who gives them.

    Args:
        metrics: the section's `compare.metrics`.
        settings: the section `eval`.

    Returns:
        Metrics by family, those of clinical efficacy by family and labeler (``"ce_rules"``), in the order of
        their first metrics.

    Raises:
        ValueError: when a metric belongs to no family that eval scores, or counts errors: every mark of the
            table takes more for better.
    """
    names = [family for family in settings["families"] if family != "ce"]
    names += [f"ce_{labeler}" for labeler in settings["labelers"] if "ce" in settings["families"]]
    grouped: dict[str, list[str]] = {}
    for metric in metrics:
        owners = [name for name in names if f"{metric}_".startswith(f"{name}_")]
        if not owners:
            raise ValueError(
                f"compare.metrics: {metric!r} is none of what eval.families and eval.labelers give, whose "
                f"metrics begin with {', '.join(names)}"
            )
        group = max(owners, key=len)
        if metric not in ERROR_COUNTS.get(group, (metric,)) or "radcliq" in metric:
            raise ValueError(
                f"compare.metrics: of {metric!r} less is better, which the table's marks would get wrong; "
                "leave it out (eval's scores have it)"
            )
        grouped.setdefault(group, []).append(metric)
    return grouped


def build_groups(
    names: Mapping[str, Sequence[str]],
    arms: Mapping[str, pd.DataFrame],
    *,
    settings: Mapping[str, Any],
    labeler: Mapping[str, Any],
    models: Path | None,
) -> dict[str, Group]:
    """Build the scorers of the metrics in the table, and no other.

    Args:
        names: of `group_names`.
        arms: by arm, what eval found per report; its label columns are of the first of `eval.labelers`.
        settings: the section `eval`.
        labeler: the section `labeler`.
        models: what the stage labeler wrote.

    Returns:
        The groups by name.

    Raises:
        ValueError: when a metric is unknown or has no interval, listing the valid ones of its family.
    """
    # METEOR starts a Java process and has no interval
    plain = {**settings, "nlg": {**settings["nlg"], "meteor": False}} if "nlg" in settings else settings
    groups = {}
    for name, metrics in names.items():
        readers, family = [], name
        if name.startswith("ce_"):
            family, reader = "ce", name.removeprefix("ce_")
            known = _stored_labels(arms) if reader == settings["labelers"][0] else {}
            readers = [Remembering(build_labeler(labeler, models, name=reader), known)]
        (scorer,) = build_scorers([family], plain, readers)
        groups[name] = Group(metrics, scorer, pooled=family in POOLED)
        _require_known(name, groups[name], arms)
    return groups


def score_rows(rows: Mapping[str, Row], group: Group, references: Sequence[str]) -> dict[str, RowScores]:
    """Score the rows with one scorer.

    Args:
        rows: of `radrl.pipelines.compare.rows.all_rows`.
        group: the metrics and their scorer.
        references: the N reference reports.

    Returns:
        By row; a row without text has labels alone, and is missing where the scorer reads texts.

    Raises:
        ValueError: when the scorer's figure is not the mean of its reports' values although it should be.
        radrl.scoring.base.ScoringError: when the scorer fails.
    """
    found = {name: _score(row, group, references) for name, row in rows.items()}
    return {name: scores for name, scores in found.items() if scores is not None}


def _score(row: Row, group: Group, references: Sequence[str]) -> RowScores | None:
    if row.reports is None:
        return _score_labels(row, group, references)
    if row.stored is not None and not group.pooled:
        return _means(row.stored, group.metrics)
    scores = group.scorer.score(references, row.reports)
    if group.pooled:
        return RowScores(_only(scores.summed, group.metrics), {})
    _require_means(scores, group.metrics)
    return _means(scores.per_report, group.metrics)


def _score_labels(row: Row, group: Group, references: Sequence[str]) -> RowScores | None:
    if not isinstance(group.scorer, ClinicalEfficacy):
        return None
    labelers = group.scorer.labelers
    sums = [clinical_efficacy_sums(one.label(references), row.labels, labeler=one.name) for one in labelers]
    return RowScores(_only(join(*sums), group.metrics), {})


def _means(values: Mapping[str, Any], metrics: Sequence[str]) -> RowScores:
    missing = {metric: int(np.isnan(values[metric]).sum()) for metric in metrics}
    summed = mean_metrics({metric: values[metric] for metric in metrics}, missing=True)
    return RowScores(summed, {metric: count for metric, count in missing.items() if count})


def _only(family: SummedMetrics, metrics: Sequence[str]) -> SummedMetrics:
    def of_sums(sums: FloatArray) -> Metrics:
        found = family.of_sums(sums)
        return {name: found[name] for name in metrics}

    return SummedMetrics(family.per_study, of_sums)


def _stored_labels(arms: Mapping[str, pd.DataFrame]) -> dict[str, LabelMatrix]:
    """Labels by text, of references and reports."""
    sides = (("reference", "reference_labels"), ("report", "labels"))
    return {
        text: np.asarray(labels, dtype=np.int8)
        for frame in arms.values()
        for side, column in sides
        for text, labels in zip(frame[side], frame[column], strict=True)
    }


def _require_known(name: str, group: Group, arms: Mapping[str, pd.DataFrame]) -> None:
    """Refuse a metric before anything costly is scored."""
    for arm, frame in arms.items():
        if group.pooled:
            two = frame["reference"].tolist()[:2]  # enough to have every metric named
            known = list(group.scorer.score(two, two).summed.values())
        else:
            known = [column for column in frame if f"{column}_".startswith(f"{name}_")]
        for metric in group.metrics:
            if metric not in known:
                where = "compare.metrics" if group.pooled else f"compare.metrics, arm {arm!r}"
                raise ValueError(unknown_metric(metric, known, key=where))


def _require_means(scores: Scores, metrics: Sequence[str]) -> None:
    for metric in metrics:
        if metric not in scores.per_report:
            raise ValueError(f"compare.metrics: {metric!r} has no value: {scores.skipped.get(metric)}")
        mean = np.nanmean(scores.per_report[metric])
        if not np.isclose(mean, scores.corpus[metric], rtol=1e-6):
            raise ValueError(
                f"compare.metrics: {metric!r} is {scores.corpus[metric]:.6g} over all reports and not the "
                f"mean of their own values, {mean:.6g}: it has no interval here; leave it out"
            )
