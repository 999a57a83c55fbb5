"""Nodes of the stage eval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from radrl.pipelines.eval.names import unknown_metric

Scores = dict[str, Any]
"""Counts and metrics by name, and under `skipped` why a metric is missing."""

READINGS = {False: "positive", True: "positive or uncertain"}
"""What counts as present, by `uncertain_as_positive`."""


def score_reports(
    reports: pd.DataFrame, settings: dict[str, Any], labeler: dict[str, Any]
) -> tuple[Scores, pd.DataFrame, pd.DataFrame]:
    """Score an arm's reports against the references, in every averaging and reading.

    Args:
        reports: film_id, study_id, patient_id, reference and report, one row a film.
        settings: the section `eval`.
        labeler: the section `labeler`.

    Returns:
        The scores by name; per observation and reading precision, recall, F1, support and predicted; per
        report its labels and its own scores, each under the name of the metric it belongs to.

    Raises:
        ValueError: when there is no report, or a film has none (an empty text is one, a missing text is not).
    """
    from radrl.algorithms.f_measure import report_f1
    from radrl.evaluation.clinical_efficacy import clinical_efficacy, metric_name
    from radrl.labelers.build import build
    from radrl.scoring.nlg import nlg_scores

    _require_texts(reports)
    reader = build(labeler["name"])
    truth, found = (reader.label(reports[side].tolist()) for side in ("reference", "report"))
    clinical = clinical_efficacy(truth, found, labeler=reader.name)
    words = nlg_scores(reports["reference"].tolist(), reports["report"].tolist(), **settings["nlg"])
    own_f1 = {
        metric_name(reader.name, "sample", 14, "f1", uncertain_as_positive=reading): report_f1(
            truth, found, both_empty=0.0, uncertain_as_positive=reading
        )
        for reading in READINGS
    }
    per_report = reports.assign(
        reference_labels=list(truth), labels=list(found), **own_f1, **words.per_report
    )
    per_label = pd.DataFrame(clinical.per_label)
    per_label.insert(1, "reading", per_label.pop("uncertain_as_positive").map(READINGS))
    scores: Scores = {**_describe(reports)} | clinical.metrics | words.corpus | {"skipped": words.skipped}
    return scores, per_label, per_report


def pick_headline(scores: Scores, per_label: pd.DataFrame, settings: dict[str, Any]) -> dict[str, float]:
    """Pick the few figures that `dvc metrics show` prints, and show the arm on the terminal.

    Args:
        scores: of `score_reports`.
        per_label: of `score_reports`.
        settings: the section `eval`.

    Returns:
        The metrics of `eval.headline`, in its order; one that was skipped is left out, and named in `scores`.

    Raises:
        ValueError: when a name is no metric, listing the valid ones.
    """
    from radrl.pipelines.eval import table

    known = [name for name, value in scores.items() if isinstance(value, (int, float))]
    for name in settings["headline"]:
        if name not in known and name not in scores["skipped"]:
            raise ValueError(unknown_metric(name, known, key="eval.headline"))
    headline = {name: scores[name] for name in settings["headline"] if name in known}
    table.show_arm(scores, headline, per_label)
    return headline


def print_arms(**headlines: dict[str, float]) -> None:
    """Show all arms side by side, once each of them is scored.

    Args:
        headlines: by arm, of `pick_headline`.
    """
    from radrl.pipelines.eval import table

    table.show_arms(headlines)


def _require_texts(reports: pd.DataFrame) -> None:
    if reports.empty:
        raise ValueError("there is no report to score; does the split `generate.split` have films?")
    for side in ("reference", "report"):
        missing = reports.loc[reports[side].isna(), "film_id"]
        if len(missing):
            raise ValueError(
                f"{len(missing)} films have no {side}, the first is {missing.iloc[0]}; run generate again"
            )


def _describe(reports: pd.DataFrame) -> Mapping[str, float]:
    """How much was written, and how much of it differs."""
    words, reference_words = (
        np.array([len(text.split()) for text in reports[side]]) for side in ("report", "reference")
    )
    return {
        "reports": len(reports),
        "patients": int(reports["patient_id"].nunique()),
        "words_mean": float(words.mean()),
        "reference_words_mean": float(reference_words.mean()),
        "empty_share": float((words == 0).mean()),
        "distinct_share": float(reports["report"].nunique() / len(reports)),
    }
