"""The stage eval: one arm's scores, as tables and on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from kedro.pipeline import Pipeline, node, pipeline
from rich.console import Console
from rich.table import Table

from radrl.evaluation.clinical_efficacy import GOLD
from radrl.pipelines.scored_texts import describe_cleaning
from radrl.process.terminal import new_table, number

if TYPE_CHECKING:
    from radrl.evaluation.clinical_efficacy import Gold
    from radrl.evaluation.label_agreement import LabelRow
    from radrl.labelers import LabelMatrix
    from radrl.scoring import Scorer, Texts


def show_arm(scores: Mapping[str, Any], headline: Mapping[str, float], per_label: pd.DataFrame) -> None:
    """Print one arm's headline figures and its scores per label.

    Args:
        scores: counts and metrics by name.
        headline: the figures to show.
        per_label: observation, reading, precision, recall, f1, support, predicted.
    """
    console = Console()
    console.print()
    console.print(_counts(scores), style="bold")
    table = new_table("metric", "value")
    for name, value in headline.items():
        table.add_row(name, number(value))
    console.print(table)
    for name, reason in scores["skipped"].items():
        console.print(f"{name}: {reason}", style="dim")
    console.print(_labels(per_label))
    if "gold_reports" in scores:
        console.print(
            f"against gold labels, {scores['gold_reports']} reports of {scores['gold_patients']} patients",
            style="bold",
        )
        console.print(_gold(scores))


def show_arms(headlines: Mapping[str, Mapping[str, float]]) -> None:
    """Print the arms side by side: a row a metric, a column an arm.

    Args:
        headlines: by arm, its headline figures.
    """
    table = new_table("metric", *headlines)
    for name in dict.fromkeys(name for one in headlines.values() for name in one):
        table.add_row(name, *(number(one.get(name)) for one in headlines.values()))
    console = Console()
    console.print()
    console.print(table)


def _counts(scores: Mapping[str, Any]) -> str:
    return (
        f"{scores['reports']} reports of {scores['patients']} patients; "
        f"{scores['words_mean']:.1f} words a report, {scores['reference_words_mean']:.1f} a reference; "
        f"{scores['empty_share']:.0%} empty, {scores['distinct_share']:.0%} distinct"
    )


def _gold(scores: Mapping[str, Any]) -> Table:
    """The usual averagings over 14 labels, by labeler."""
    table = new_table("ce", "P", "R", "F1")
    for name in scores:
        if name.endswith(tuple(f"{GOLD}_{averaging}14_f1" for averaging in ("sample", "micro", "macro"))):
            stem = name.removesuffix("_f1")
            values = (scores[f"{stem}_{statistic}"] for statistic in ("precision", "recall", "f1"))
            table.add_row(stem.removeprefix("ce_"), *map(number, values))
    return table


def _labels(per_label: pd.DataFrame) -> Table:
    """The first labeler's stricter reading; the others are in the CSV."""
    table = new_table("observation", "P", "R", "F1", "present", "predicted")
    shown = per_label[per_label["labeler"] == per_label["labeler"].iloc[0]]
    for row in shown[shown["reading"] == "positive"].to_dict("records"):
        scores = [number(row[name]) for name in ("precision", "recall", "f1")]
        counts = [str(row[name]) for name in ("support", "predicted")]
        table.add_row(row["observation"], *scores, *counts, style="" if row["support"] else "dim")
    return table


Scores = dict[str, Any]
"""Counts and metrics by name; under `skipped` why a metric is missing, under `about` what made them."""

READINGS = {False: "positive", True: "positive or uncertain"}
"""What counts as present, by `uncertain_as_positive`."""


def score_reports(
    reports: pd.DataFrame,
    labeler_models: Path,
    settings: dict[str, Any],
    labeler: dict[str, Any],
    device: str = "cpu",
    threads: int | None = None,
    compute: Mapping[str, Any] | None = None,
) -> tuple[Scores, pd.DataFrame, pd.DataFrame]:
    """Score an arm's reports against the references with every scorer of `eval.families`.

    Where reports have gold labels and `ce` is among the families, their labels are scored against those too.

    Args:
        reports: sample_id, study_id, patient_id, reference, reference_label_text and report, one row a film;
            gold where known.
        labeler_models: what the stage labeler wrote.
        settings: the section `eval`.
        labeler: the section `labeler`.
        device: where a CheXbert computes.
        threads: of torch in each worker; nothing leaves them as they are.
        compute: the workers that read labels, and score where a pair's numbers are its own; nothing for this
            process.

    Returns:
        The scores by name, those of wording of texts cleaned as `eval.cleaning` says, the others of the texts
        that `eval.labels_of` names; per labeler (`rules`; `rules_gold` against gold labels), observation and
        reading precision, recall, F1, support and predicted; per report both forms of the texts as they were
        scored, the labels of every labeler (`radrl.pipelines.scored_texts.label_columns`), its own scores,
        each under the name of the metric it belongs to, and where a scorer explains itself the rows that its
        score comes from.

    Raises:
        ValueError: when there is no report, or a film has none (an empty text is one, a missing text is not).
        radrl.scoring.ScoringError: when a scorer lacks what it needs.
    """
    from radrl.labelers.parallel import ParallelLabeler
    from radrl.pipelines.scored_texts import SIDES, gold_of_reports, texts_of, with_both_forms
    from radrl.scoring.build import build as build_scorers
    from radrl.scoring.clinical import GoldEfficacy

    _require_texts(reports)
    reports = with_both_forms(reports, settings)
    references, hypotheses = (texts_of(reports, side) for side in SIDES)
    clinical = references.clinical, hypotheses.clinical
    reader = partial(
        ParallelLabeler, labeler, labeler_models, device=device, threads=threads, compute=compute
    )
    readers = [reader(name=name).knowing([*chain(*clinical)]) for name in settings["labelers"]]
    scorers = build_scorers(settings["families"], settings, readers, compute=compute, device=device)
    gold = gold_of_reports(reports) if "ce" in settings["families"] else None
    if gold is not None:
        scorers.append(GoldEfficacy(readers, gold))
    found = [scorer.score(references.read_by(scorer), hypotheses.read_by(scorer)) for scorer in scorers]
    labels = {reader.name: (reader.label(clinical[0]), reader.label(clinical[1])) for reader in readers}
    lines = _explained(scorers, references, hypotheses)
    per_report = reports.assign(**_columns_of(labels), **_merged(one.per_report for one in found), **lines)
    scores: Scores = _describe(reports) | _describe_gold(reports, gold) | _merged(one.corpus for one in found)
    about = {"cleaning": describe_cleaning(settings), "labels_of": settings["labels_of"]}
    about |= _merged(one.about for one in found)
    scores |= {"skipped": _merged(one.skipped for one in found), "about": about}
    return scores, _label_table(labels, gold), per_report


def _explained(scorers: Iterable[Scorer], references: Texts, hypotheses: Texts) -> dict[str, list[Any]]:
    """By column, what each report's scores come from, of the scorers that tell it."""
    return _merged(
        explained(references.read_by(one), hypotheses.read_by(one))
        for one in scorers
        if (explained := getattr(one, "explained", None)) is not None
    )


def _columns_of(labels: Mapping[str, tuple[LabelMatrix, LabelMatrix]]) -> dict[str, list[Any]]:
    """Labels of references and reports by every labeler, as columns of the table of reports."""
    from radrl.pipelines.scored_texts import label_columns

    return {
        column: list(read)
        for number, (name, both) in enumerate(labels.items())
        for column, read in zip(label_columns(number, name).values(), both, strict=True)
    }


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
    from radrl.scoring.names import unknown_metric

    known = [name for name, value in scores.items() if isinstance(value, (int, float))]
    for name in settings["headline"]:
        if name not in known and name not in scores["skipped"]:
            raise ValueError(unknown_metric(name, known, key="eval.headline"))
    headline = {name: scores[name] for name in settings["headline"] if name in known}
    show_arm(scores, headline, per_label)
    return headline


def print_arms(**headlines: dict[str, float]) -> None:
    """Show all arms side by side, once each of them is scored.

    Args:
        headlines: by arm, of `pick_headline`.
    """
    show_arms(headlines)


def _merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


def _label_table(labels: Mapping[str, tuple[LabelMatrix, LabelMatrix]], gold: Gold | None) -> pd.DataFrame:
    """Scores of each observation under both readings of uncertain, by labeler."""
    from radrl.evaluation.clinical_efficacy import clinical_efficacy, gold_label_rows, gold_labeler

    found = {name: clinical_efficacy(*both, labeler=name).per_label for name, both in labels.items()}
    if gold is not None:
        for name, (_, written) in labels.items():
            found[gold_labeler(name)] = gold_label_rows(gold, written, labeler=name)
    return pd.concat([_label_rows(name, rows) for name, rows in found.items()], ignore_index=True)


def _label_rows(labeler: str, found: list[LabelRow]) -> pd.DataFrame:
    rows = pd.DataFrame(found)
    rows.insert(1, "reading", rows.pop("uncertain_as_positive").map(READINGS))
    rows.insert(0, "labeler", labeler)
    return rows


def _require_texts(reports: pd.DataFrame) -> None:
    from radrl.pipelines.scored_texts import LABEL_TEXTS, SIDES

    if reports.empty:
        raise ValueError("there is no report to score; does the split `generate.split` have films?")
    for side in (*SIDES, LABEL_TEXTS["reference"]):
        if side not in reports:
            raise ValueError(f"the table of reports has no column {side}; run generate again")
        missing = reports.loc[reports[side].isna(), "sample_id"]
        if len(missing):
            raise ValueError(
                f"{len(missing)} films have no {side}, the first is {missing.iloc[0]}; run generate again"
            )


def _describe(reports: pd.DataFrame) -> dict[str, Any]:
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


def _describe_gold(reports: pd.DataFrame, gold: Gold | None) -> dict[str, Any]:
    """How many of the reports have gold labels; nothing where none has."""
    if gold is None:
        return {}
    patients = reports.loc[gold.known, "patient_id"].nunique()
    return {"gold_reports": int(gold.known.sum()), "gold_patients": int(patients)}


def create_pipeline() -> Pipeline:
    """An arm's reports -> its scores."""
    return pipeline(
        [
            node(
                score_reports,
                {
                    "reports": "reports",
                    "labeler_models": "labeler_models",
                    "settings": "params:eval",
                    "labeler": "params:labeler",
                    "device": "params:device",
                    "threads": "params:threads",
                    "compute": "compute",
                },
                ["scores", "per_label", "per_report"],
                name="score_reports",
            ),
            node(pick_headline, ["scores", "per_label", "params:eval"], "headline", name="pick_headline"),
        ]
    )


def create_summary(arms: Sequence[str]) -> Pipeline:
    """Every arm's headline -> one table on the terminal; no part of any one arm.

    Args:
        arms: names of the arms.
    """
    return pipeline([node(print_arms, {arm: f"{arm}.headline" for arm in arms}, None, name="print_arms")])
