"""Scores of the comparison's rows: what eval stored where that is enough, the scorers where it is not.

Eval has scored the arms, with a judge at some cost. Where a metric is the mean of its reports' own values,
these are enough for intervals and tests, and no scorer is asked again. Micro and macro F1 and BLEU are
functions of pooled counts, so their scorers are asked, which is cheap: labels that eval stored are not read
again. Rows that need no model are scored here, by the scorers of the metrics in the table alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from radrl.evaluation import FloatArray, Metrics, SummedMetrics, mean_metrics
from radrl.evaluation.clinical_efficacy import clinical_efficacy, gold_labeler
from radrl.evaluation.label_agreement import metric_name
from radrl.evaluation.meteor import METEOR
from radrl.labelers import Labeler, LabelMatrix
from radrl.labelers import build as build_labeler
from radrl.labelers.cached import CachedLabeler
from radrl.pipelines.compare.rows import CEILING, Row, RowScores
from radrl.pipelines.scored_texts import LABEL_TEXTS, gold_of_reports, label_columns
from radrl.readers import READERS
from radrl.scoring import Scorer, Scores, Texts
from radrl.scoring.build import build as build_scorers
from radrl.scoring.clinical import ClinicalEfficacy, GoldEfficacy
from radrl.scoring.names import unknown_metric
from radrl.scoring.nlg import MeteorCounts, Nlg

POOLED: Final = ("ce", "nlg", METEOR)
"""Families with metrics that are no means of the reports' own values."""


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


def build_groups(
    names: Mapping[str, Sequence[str]],
    arms: Mapping[str, pd.DataFrame],
    *,
    settings: Mapping[str, Any],
    labeler: Mapping[str, Any],
    models: Path | None,
    device: str,
) -> dict[str, Group]:
    """Build the scorers of the metrics in the table, and no other.

    Args:
        names: of `radrl.scoring.names.group_names`.
        arms: by arm, what eval found per report, with the labels of `eval.labelers`.
        settings: the section `eval`.
        labeler: the section `labeler`.
        models: what the stage labeler wrote.
        device: where a CheXbert computes.

    Returns:
        The groups by name.

    Raises:
        ValueError: when eval stored no such metric of a family with a model, listing those it stored; or it
            is against gold labels, and no film has any.
    """
    efficacy: dict[str, ClinicalEfficacy | GoldEfficacy] = {}
    for number, reader in enumerate(settings["labelers"]):
        if own := {f"ce_{reader}", f"ce_{gold_labeler(reader)}"} & names.keys():
            known = _stored_labels(arms, label_columns(number, reader))
            one = CachedLabeler(build_labeler(labeler, models, name=reader, device=device), known)
            efficacy |= {name: _efficacy(name, one, names[name], arms) for name in own}
    groups = {}
    for name, metrics in names.items():
        scorer = efficacy[name] if name in efficacy else _scorer(name, metrics, settings)
        groups[name] = Group(metrics, scorer, pooled=name in efficacy or name in POOLED)
        _require_stored(name, groups[name], arms)
    return groups


def _scorer(name: str, metrics: Sequence[str], settings: Mapping[str, Any]) -> Scorer:
    if name == METEOR:
        return MeteorCounts(settings["nlg"]["preparation"])
    if name == Nlg.name:  # METEOR starts a Java process and is a group of its own
        return Nlg(preparation=settings["nlg"]["preparation"], meteor=False, cider="nlg_cider" in metrics)
    return build_scorers([name], settings, [])[0]


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


def score_rows(rows: Mapping[str, Row], group: Group, references: Texts) -> dict[str, RowScores]:
    """Score the rows with one scorer.

    Args:
        rows: of `radrl.pipelines.compare.rows.all_rows`.
        group: the metrics and their scorer.
        references: the N reference reports in both forms.

    Returns:
        By row; a row without text has labels alone, and is missing where the scorer reads texts.

    Raises:
        ValueError: when the scorer's figure is not the mean of its reports' values although it should be.
        radrl.scoring.ScoringError: when the scorer fails.
    """
    read = references.read_by(group.scorer)
    found = _stored_nlg(rows, group, read) if isinstance(group.scorer, Nlg) else {}
    found |= {name: _score(row, group, read) for name, row in rows.items() if name not in found}
    return {name: scores for name, scores in found.items() if scores is not None}


def _score(row: Row, group: Group, references: Sequence[str]) -> RowScores | None:
    if row.reports is None:
        return _score_labels(row, group, references)
    if row.stored is not None and not group.pooled:
        return _means(row.stored, group.metrics)
    scores = group.scorer.score(references, row.reports.read_by(group.scorer))
    if group.pooled:
        return _pooled(scores.summed, group)
    _require_means(scores, group.metrics)
    return _means(scores.per_report, group.metrics)


def _score_labels(row: Row, group: Group, references: Sequence[str]) -> RowScores | None:
    if row.labels is None or not isinstance(group.scorer, (ClinicalEfficacy, GoldEfficacy)):
        return None
    return _pooled(group.scorer.sums_of_labels(references, row.labels), group)


def _stored_nlg(
    rows: Mapping[str, Row], group: Group, references: Sequence[str]
) -> dict[str, RowScores | None]:
    """Of the arms BLEU from its counts, and what eval stored a report of the others."""
    assert isinstance(group.scorer, Nlg)
    known = ("nlg_rougel", "nlg_cider") if group.scorer.cider else ("nlg_rougel",)
    stored = {
        name: (
            row.reports.read_by(group.scorer),
            {each: row.stored[each] for each in known if each in row.stored},
        )
        for name, row in rows.items()
        if row.reports is not None and row.stored is not None
    }
    sums = group.scorer.sums_of_stored(references, stored)
    return {name: _pooled(summed, group) for name, summed in sums.items()}


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


def _stored_labels(arms: Mapping[str, pd.DataFrame], columns: Mapping[str, str]) -> dict[str, LabelMatrix]:
    """A labeler's labels by text, of references and reports in the form that was labelled."""
    return {
        text: np.asarray(labels, dtype=np.int8)
        for frame in arms.values()
        for side, column in columns.items()
        if column in frame
        for text, labels in zip(frame[LABEL_TEXTS[side]], frame[column], strict=True)
    }


def _require_stored(name: str, group: Group, arms: Mapping[str, pd.DataFrame]) -> None:
    """Refuse what eval did not store, before anything costly is scored; pooled metrics are not stored."""
    if group.pooled:
        return
    for arm, frame in arms.items():
        known = [column for column in frame if f"{column}_".startswith(f"{name}_")]
        for metric in group.metrics:
            if metric not in known:
                raise ValueError(unknown_metric(metric, known, key=f"compare.metrics, arm {arm!r}"))


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


AGREEMENT: Final = ("precision", "recall", "f1")


def agreement_metrics(labeler: str) -> list[str]:
    """The pooled precision, recall and F1 of all 14 labels, the stricter reading.

    Args:
        labeler: who read both sides.
    """
    return [metric_name(labeler, "micro", 14, statistic) for statistic in AGREEMENT]


def tabulate_agreement(
    rows: Mapping[str, Row], group: Group, references: Texts, labeler: str
) -> pd.DataFrame:
    """Each row's pooled precision and recall.

    Args:
        rows: of `radrl.pipelines.compare.rows.all_rows`.
        group: a scorer of clinical efficacy by `labeler`; whichever its metrics are.
        references: the N reference reports.
        labeler: who read both sides.

    Returns:
        arm, kind, precision, recall and f1, a line a row in their order.
    """
    names = agreement_metrics(labeler)
    found = score_rows(rows, replace(group, metrics=names), references)
    values = {name: found[name].summed.values() for name in rows if name in found}
    return pd.DataFrame(
        [
            {"arm": name, "kind": _kind(name, rows[name])}
            | {statistic: own[metric] for statistic, metric in zip(AGREEMENT, names, strict=True)}
            for name, own in values.items()
        ]
    )


def _kind(name: str, row: Row) -> str:
    if row.stored is not None:
        return "arm"
    return "reader" if name in READERS else "ceiling" if name == CEILING else "trivial"


def f1_per_label(arms: Mapping[str, pd.DataFrame], labeler: str) -> list[dict[str, Any]]:
    """F1 per observation and arm, the stricter reading.

    Args:
        arms: by arm, its reports with labels, over the same films.
        labeler: who read both sides.

    Returns:
        Of each observation its name, positives in the references, and a row of
        `radrl.evaluation.label_agreement.LabelRow` by arm; the most frequent first.
    """
    by_observation: dict[str, dict[str, Any]] = {}
    for arm, frame in arms.items():
        truth, found = (np.stack(frame[side].to_list()) for side in ("reference_labels", "labels"))
        for row in clinical_efficacy(truth, found, labeler=labeler).per_label:
            if not row.uncertain_as_positive:
                entry = by_observation.setdefault(row.observation, {"support": row.support, "arms": {}})
                entry["arms"][arm] = row
    entries = [{"observation": name, **entry} for name, entry in by_observation.items()]
    return sorted(entries, key=lambda entry: -entry["support"])
