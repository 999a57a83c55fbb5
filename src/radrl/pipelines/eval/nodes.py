"""Nodes of the stage eval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from radrl.pipelines.eval.names import unknown_metric

if TYPE_CHECKING:
    from radrl.labelers.base import LabelMatrix

Scores = dict[str, Any]
"""Counts and metrics by name; under `skipped` why a metric is missing, under `about` what made them."""

READINGS = {False: "positive", True: "positive or uncertain"}
"""What counts as present, by `uncertain_as_positive`."""


def score_reports(
    reports: pd.DataFrame, labeler_models: Path, settings: dict[str, Any], labeler: dict[str, Any]
) -> tuple[Scores, pd.DataFrame, pd.DataFrame]:
    """Score an arm's reports against the references with every scorer of `eval.families`.

    Args:
        reports: film_id, study_id, patient_id, reference and report, one row a film.
        labeler_models: what the stage labeler wrote.
        settings: the section `eval`.
        labeler: the section `labeler`.

    Returns:
        The scores by name; per labeler, observation and reading precision, recall, F1, support and predicted;
        per report the labels of the first of `eval.labelers` and its own scores, each under the name of the
        metric it belongs to.

    Raises:
        ValueError: when there is no report, or a film has none (an empty text is one, a missing text is not).
        radrl.scoring.base.ScoringError: when a scorer lacks what it needs.
    """
    from radrl.labelers.build import build as build_labeler
    from radrl.scoring.build import build as build_scorers

    _require_texts(reports)
    texts = reports["reference"].tolist(), reports["report"].tolist()
    readers = [build_labeler(labeler, labeler_models, name=name) for name in settings["labelers"]]
    found = [scorer.score(*texts) for scorer in build_scorers(settings["families"], settings, readers)]
    labels = {reader.name: (reader.label(texts[0]), reader.label(texts[1])) for reader in readers}
    truth, written = labels[readers[0].name]
    per_report = reports.assign(
        reference_labels=list(truth), labels=list(written), **_merged(one.per_report for one in found)
    )
    per_label = pd.concat([_label_rows(name, *both) for name, both in labels.items()], ignore_index=True)
    scores: Scores = {**_describe(reports)} | _merged(one.corpus for one in found)
    scores |= {"skipped": _merged(one.skipped for one in found), "about": _merged(one.about for one in found)}
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


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


def _label_rows(labeler: str, truth: LabelMatrix, written: LabelMatrix) -> pd.DataFrame:
    """Scores of each observation under both readings of uncertain."""
    from radrl.evaluation.clinical_efficacy import clinical_efficacy

    rows = pd.DataFrame(clinical_efficacy(truth, written, labeler=labeler).per_label)
    rows.insert(1, "reading", rows.pop("uncertain_as_positive").map(READINGS))
    rows.insert(0, "labeler", labeler)
    return rows


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
