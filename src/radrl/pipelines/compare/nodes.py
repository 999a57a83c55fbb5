"""Nodes of the stage compare."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.pipelines.eval.nodes import describe_cleaning
from radrl.reports.cleaning import clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from radrl.training.watching.diagnosis import Finding

ArmTables = dict[str, pd.DataFrame]
"""A table by arm."""


def gather_reports(**per_report: pd.DataFrame) -> ArmTables:
    """Put the arms' reports side by side, in the same order of films.

    Args:
        per_report: by arm, its reports with labels and scores.

    Returns:
        The same, each in the order of the first arm's films.

    Raises:
        ValueError: when an arm has other films or other references than the first one, naming a film.
    """
    first, base = next(iter(per_report.items()))
    together: ArmTables = {}
    for arm, frame in per_report.items():
        _require_same_films(first, base["sample_id"], arm, frame["sample_id"])
        ordered = frame.set_index("sample_id").loc[base["sample_id"]].reset_index()
        changed = ordered["reference"] != base["reference"].reset_index(drop=True)
        if changed.any():
            film = ordered.loc[changed, "sample_id"].iloc[0]
            raise ValueError(
                f"arms {first!r} and {arm!r} have other references for film {film}; run eval again for both"
            )
        together[arm] = ordered
    return together


def gather_histories(**histories: pd.DataFrame) -> ArmTables:
    """The training curves of the arms that trained.

    Args:
        histories: by arm, its curve; without rows where the arm did not train.

    Returns:
        Those with rows.
    """
    return {arm: history for arm, history in histories.items() if len(history)}


def compare_arms(
    arm_reports: ArmTables,
    ceilings: pd.DataFrame,
    corpus: ds.Dataset,
    labeler_models: Path,
    settings: dict[str, Any],
    eval_settings: dict[str, Any],
    labeler: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Compare arms and the rows beside them on the metrics of `compare.metrics`, and print the table.

    Args:
        arm_reports: of `gather_reports`.
        ceilings: labels read off the films.
        corpus: the films; training reports and films are read from it.
        labeler_models: what the stage labeler wrote.
        settings: the section `compare`.
        eval_settings: the section `eval`.
        labeler: the section `labeler`.
        seed: of the resamples and of the drawn reports.

    Returns:
        A line a row and metric, as `radrl.pipelines.compare.rows.tabulate` gives them.

    Raises:
        ValueError: when a metric is unknown or has no interval, listing the valid ones.
        radrl.scoring.base.ScoringError: when a scorer lacks what it needs.
    """
    from radrl.data.thumbnails import nearest_training_films
    from radrl.pipelines.compare import rows, scores, table
    from radrl.scoring.names import group_names

    names = group_names(settings["metrics"], eval_settings)
    groups = scores.build_groups(
        names, arm_reports, settings=eval_settings, labeler=labeler, models=labeler_models
    )
    films = next(iter(arm_reports.values()))
    training = corpora.read(corpus, split="train", columns=["sample_id", "report"]).set_index("sample_id")[
        "report"
    ]
    nearest = training.loc[nearest_training_films(corpus, films["sample_id"].tolist())]
    cleaned = partial(clean, protocol=eval_settings["cleaning"], max_words=eval_settings["max_report_words"])
    every = rows.all_rows(
        arm_reports, training.tolist(), nearest.tolist(), ceilings, seed=seed, cleaned=cleaned
    )
    comparison = rows.tabulate(
        [scores.score_rows(every, group, films["reference"].tolist()) for group in groups.values()],
        list(every),
        settings["metrics"],
        films["patient_id"].tolist(),
        reference=settings["reference"],
        bootstrap=settings["bootstrap"],
        seed=seed,
    )
    table.show(comparison, names, settings)
    return comparison


def draw_comparison(comparison: pd.DataFrame, settings: dict[str, Any]) -> Figure:
    """Draw every row's value and interval, a panel a metric.

    Args:
        comparison: of `compare_arms`.
        settings: the section `compare`.
    """
    from radrl.pipelines.compare import figures

    return figures.forest(comparison, reference=settings["reference"])


def draw_curves(arm_histories: ArmTables, labels: pd.DataFrame) -> Figure:
    """Draw the training curves of the arms that trained.

    Args:
        arm_histories: of `gather_histories`.
        labels: of the reference reports, which say what labels are rare.
    """
    from radrl.pipelines.compare import curves

    return curves.curves(arm_histories, curves.rare_labels(labels))


def show_seeds(
    comparison: pd.DataFrame,
    seeds_results: pd.DataFrame,
    ingest: dict[str, Any],
    settings: dict[str, Any],
) -> list[dict[str, Any]]:
    """Print below the table what one seed cannot say, and what several gave.

    Args:
        comparison: of `compare_arms`, which prints the table.
        seeds_results: the table of the study of the shipped parameters over seeds.
        ingest: the section `ingest`; of other films the shipped table says nothing.
        settings: the section `compare`.

    Returns:
        The lines of the table that are of these arms and films, of the first metric.
    """
    from radrl.params.data import Ingest
    from radrl.pipelines.compare import seeds, table

    metric, reference = settings["metrics"][0], settings["reference"]
    corpus = Ingest.model_validate(ingest).digest()
    lines = seeds.of_shipped(seeds_results, metric, {*comparison["arm"]}, corpus=corpus, reference=reference)
    table.show_seeds(lines, metric, reference)
    return lines


def show_findings(comparison: pd.DataFrame, arm_histories: ArmTables, arms: dict[str, Any]) -> None:
    """Print what the arms' histories say is wrong, below the table.

    Args:
        comparison: of `compare_arms`, which prints the table.
        arm_histories: of `gather_histories`.
        arms: the section `arms`, so that nobody is told to do what an arm does.
    """
    from radrl.pipelines.compare import table

    table.show_findings(_diagnoses(arm_histories, arms))


def write_page(
    comparison: pd.DataFrame,
    arm_reports: ArmTables,
    arm_histories: ArmTables,
    labels: pd.DataFrame,
    corpus: ds.Dataset,
    published: pd.DataFrame,
    over_seeds: list[dict[str, Any]],
    ingest_summary: dict[str, Any],
    labeler_report: dict[str, Any],
    arms: dict[str, Any],
    settings: dict[str, Any],
    eval_settings: dict[str, Any],
    labeler: dict[str, Any],
    seed: int,
) -> str:
    """Write the page that holds the whole comparison.

    Args:
        comparison: of `compare_arms`.
        arm_reports: of `gather_reports`.
        arm_histories: of `gather_histories`.
        labels: of the reference reports.
        corpus: the films.
        published: the papers' results.
        over_seeds: of `show_seeds`.
        ingest_summary: counts of the stage ingest.
        labeler_report: of the stage labeler.
        arms: the section `arms`.
        settings: the section `compare`.
        eval_settings: the section `eval`.
        labeler: the section `labeler`.
        seed: decides which films are shown.

    Returns:
        One HTML page that needs nothing else.
    """
    from radrl.pipelines.compare import curves, page
    from radrl.scoring.names import group_names

    shown = page.draw_films(arm_reports, count=settings["examples"], seed=seed)
    parameters = {"seed": seed, "labeler": labeler, "eval": eval_settings, "compare": settings, "arms": arms}
    return page.render(
        comparison=comparison,
        arm_reports=arm_reports,
        curves=curves.curves(arm_histories, curves.rare_labels(labels)) if arm_histories else None,
        diagnoses=_diagnoses(arm_histories, arms),
        films=corpora.pictures(corpus, shown),
        published=published,
        over_seeds=over_seeds,
        about={
            "ingest": ingest_summary,
            "labelers": eval_settings["labelers"],
            "cleaning": describe_cleaning(eval_settings),
            "labeler": labeler_report,
        },
        groups=group_names(settings["metrics"], eval_settings),
        arms=arms,
        settings=settings,
        parameters=parameters,
    )


def _diagnoses(arm_histories: ArmTables, arms: dict[str, Any]) -> dict[str, list[Finding]]:
    from radrl.training.watching.diagnosis import diagnose

    return {
        arm: diagnose(history.to_dict("records"), arms.get(arm)) for arm, history in arm_histories.items()
    }


def _require_same_films(first: str, known: pd.Series, arm: str, films: pd.Series) -> None:
    if not films.is_unique:
        raise ValueError(
            f"arm {arm!r} has film {films[films.duplicated()].iloc[0]} twice; run generate again for it"
        )
    lacking, extra = sorted({*known} - {*films}), sorted({*films} - {*known})
    if lacking or extra:
        raise ValueError(
            f"arms {first!r} and {arm!r} were scored on other films: {arm!r} lacks {len(lacking)} "
            f"and has {len(extra)} more, such as {(lacking or extra)[0]}; run generate and eval for both"
        )
