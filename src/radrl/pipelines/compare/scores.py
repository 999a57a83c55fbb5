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

from radrl.evaluation.gold import gold_labeler
from radrl.evaluation.summed import FloatArray, Metrics, SummedMetrics, mean_metrics
from radrl.labelers.base import Labeler, LabelMatrix
from radrl.labelers.build import build as build_labeler
from radrl.labelers.remembering import Remembering
from radrl.observations import OBSERVATIONS
from radrl.pipelines.compare.rows import Row, RowScores
from radrl.pipelines.eval.gold import gold_of_reports
from radrl.pipelines.eval.names import unknown_metric
from radrl.scoring.base import Scorer, Scores
from radrl.scoring.build import build as build_scorers
from radrl.scoring.clinical import ClinicalEfficacy
from radrl.scoring.gold import GoldEfficacy

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


def group_names(metrics: Sequence[str], settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Sort metrics by who gives them.

    Args:
        metrics: the section's `compare.metrics`.
        settings: the section `eval`.

    Returns:
        Metrics by family, those of clinical efficacy by family and labeler (``"ce_rules"``, and
        ``"ce_rules_gold"`` against gold labels), in the order of their first metrics.

    Raises:
        ValueError: when a metric belongs to no family that eval scores, or counts errors: every mark of the
            table takes more for better.
    """
    names = [family for family in settings["families"] if family != "ce"]
    if "ce" in settings["families"]:
        names += [
            f"ce_{each}" for labeler in settings["labelers"] for each in (labeler, gold_labeler(labeler))
        ]
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
        ValueError: when a metric is unknown or has no interval, listing the valid ones of its family; or is
            against gold labels, and no film has any.
    """
    # METEOR starts a Java process and has no interval
    plain = {**settings, "nlg": {**settings["nlg"], "meteor": False}} if "nlg" in settings else settings
    efficacy: dict[str, ClinicalEfficacy | GoldEfficacy] = {}
    for reader in settings["labelers"]:
        if own := {f"ce_{reader}", f"ce_{gold_labeler(reader)}"} & names.keys():
            known = _stored_labels(arms) if reader == settings["labelers"][0] else {}
            one = Remembering(build_labeler(labeler, models, name=reader), known)
            efficacy |= {name: _efficacy(name, one, names[name], arms) for name in own}
    groups = {}
    for name, metrics in names.items():
        scorer = efficacy[name] if name in efficacy else build_scorers([name], plain, [])[0]
        groups[name] = Group(metrics, scorer, pooled=name in efficacy or name in POOLED)
        _require_known(name, groups[name], arms)
    return groups


def _efficacy(
    name: str, reader: Labeler, metrics: Sequence[str], arms: Mapping[str, pd.DataFrame]
) -> ClinicalEfficacy | GoldEfficacy:
    if name == f"ce_{reader.name}":
        return ClinicalEfficacy([reader])
    if (gold := gold_of_reports(next(iter(arms.values())))) is None:
        raise ValueError(
            f"compare.metrics: {metrics[0]!r} needs gold labels, and no film that was scored has any; leave "
            "it out, or give the data source its gold labels and run ingest, generate and eval again"
        )
    return GoldEfficacy([reader], gold)


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
        return _pooled(scores.summed, group)
    _require_means(scores, group.metrics)
    return _means(scores.per_report, group.metrics)


def _score_labels(row: Row, group: Group, references: Sequence[str]) -> RowScores | None:
    if row.labels is None or not isinstance(group.scorer, (ClinicalEfficacy, GoldEfficacy)):
        return None
    return _pooled(group.scorer.sums_of_labels(references, row.labels), group)


def _pooled(summed: SummedMetrics, group: Group) -> RowScores:
    asked = _only(summed, group.metrics)
    if not isinstance(group.scorer, GoldEfficacy) or group.scorer.gold.known.all():
        return RowScores(asked, {})
    known = group.scorer.gold.known
    return RowScores(asked, dict.fromkeys(group.metrics, int((~known).sum())), known)


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
        if isinstance(group.scorer, GoldEfficacy):
            nothing = np.zeros((len(frame), len(OBSERVATIONS)), dtype=np.int8)
            known = list(group.scorer.sums_of_labels([], nothing).values())
        elif group.pooled:
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
