"""Nodes of the stage compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.pipelines.compare.inputs import ArmTables, ComparisonSettings, PageContext, diagnose_histories

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from radrl.pipelines.compare.inputs import Subset
    from radrl.pipelines.compare.rows import Row, System
    from radrl.pipelines.compare.training import TrainingLength


def settle_comparison(
    compare: dict[str, Any],
    eval: dict[str, Any],
    labeler: dict[str, Any],
    arms: dict[str, Any],
    seed: int,
    device: str = "cpu",
) -> ComparisonSettings:
    """Put together what the arms are compared by; see `ComparisonSettings`.

    Args:
        compare: the section `compare`.
        eval: the section `eval`.
        labeler: the section `labeler`.
        arms: the section `arms`.
        seed: of all draws.
        device: where a CheXbert computes.
    """
    return ComparisonSettings(compare, eval, labeler, arms, seed, device)


def read_systems(folder: Path, arm_reports: ArmTables, settings: ComparisonSettings) -> dict[str, System]:
    """Read the scores of other systems that `compare.systems` names, and look at what differs from the arms'.

    Args:
        folder: where the files lie.
        arm_reports: of `radrl.pipelines.compare.inputs.gather_reports`.
        settings: of `settle_comparison`.

    Returns:
        By the row's name.

    Raises:
        radrl.params.messages.ParamsError: as `radrl.pipelines.compare.rows.read_systems`.
    """
    from radrl.pipelines.compare import rows

    films = next(iter(arm_reports.values()))
    return {
        name: replace(
            system, differs=[*rows.system_differences(system, films, settings.eval, settings.labeler)]
        )
        for name, system in rows.read_systems(folder, settings.compare).items()
    }


def compare_arms(
    arm_reports: ArmTables,
    ceilings: pd.DataFrame,
    corpus: ds.Dataset,
    labeler_models: Path,
    systems: dict[str, System],
    settings: ComparisonSettings,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Compare arms and the rows beside them on the metrics of `compare.metrics`, and print the table.

    Args:
        arm_reports: of `radrl.pipelines.compare.inputs.gather_reports`.
        ceilings: labels read off the films.
        corpus: the films; training reports and films are read from it.
        labeler_models: what the stage labeler wrote.
        systems: of `read_systems`.
        settings: of `settle_comparison`.

    Returns:
        A line a row and metric, and a line a pair of them, as `radrl.pipelines.compare.rows.tabulate` gives
        them; and a line a row with its precision and recall, of
        `radrl.pipelines.compare.scores.tabulate_agreement`.

    Raises:
        ValueError: when a metric is unknown or has no interval, listing the valid ones; or a system bears the
            name of another row.
        radrl.scoring.ScoringError: when a scorer lacks what it needs.
    """
    from radrl.pipelines.compare import rows, scores, tables
    from radrl.pipelines.compare.rows import system_lines
    from radrl.pipelines.scored_texts import texts_of

    names = settings.groups
    reading = {"labeler": settings.labeler, "models": labeler_models, "device": settings.device}
    reader = settings.eval["labelers"][0]
    pooled = {f"ce_{reader}": scores.agreement_metrics(reader)}
    groups = scores.build_groups(pooled | names, arm_reports, settings=settings.eval, **reading)
    every = _all_rows(arm_reports, ceilings, corpus, settings)
    if taken := systems.keys() & every.keys():
        raise ValueError(
            f"compare.systems.{min(taken)}: the table has a row of this name; give it another one"
        )
    films = next(iter(arm_reports.values()))
    references = texts_of(films, "reference")
    comparison, pairs = rows.tabulate(
        [scores.score_rows(every, groups[name], references) for name in names],
        [*arm_reports, *systems, *(name for name in every if name not in arm_reports)],
        settings.compare["metrics"],
        films["patient_id"].tolist(),
        reference=settings.reference,
        bootstrap=settings.compare["bootstrap"],
        seed=settings.seed,
        apart=system_lines(systems, settings.compare["metrics"]),
    )
    tables.print_comparison(comparison, names, settings.compare)
    return comparison, pairs, scores.tabulate_agreement(every, groups[f"ce_{reader}"], references, reader)


def draw_comparison(comparison: pd.DataFrame, settings: dict[str, Any]) -> tuple[Figure, str]:
    """Draw every row's value and interval, a panel a metric.

    Args:
        comparison: of `compare_arms`.
        settings: the section `compare`.

    Returns:
        The figure, laid out, and the same as an SVG element for the page.
    """
    from radrl.pipelines.compare import figures

    figure = figures.draw_forest(comparison, reference=settings["reference"])
    return figure, figures.svg(figure, name="forest")


def draw_curves(arm_histories: ArmTables, labels: pd.DataFrame) -> tuple[Figure, str]:
    """Draw the training curves of the arms that trained.

    Args:
        arm_histories: of `radrl.pipelines.compare.inputs.gather_of_trained`.
        labels: of the reference reports, which say what labels are rare.

    Returns:
        The figure, laid out, and the same as an SVG element for the page; a line of text if no arm trained.
    """
    from radrl.pipelines.compare import figures, training

    figure = training.draw_curves(arm_histories, training.rare_labels(labels))
    return figure, figures.svg(figure, name="curves")


def pick_headline(comparison: pd.DataFrame, compare: dict[str, Any]) -> dict[str, float]:
    """Each arm's number of the first metric of `compare.metrics`, for DVC's tables, which want short names.

    Args:
        comparison: of `compare_arms`.
        compare: the section `compare`.

    Returns:
        By arm, to four decimals. An arm without a value is left out.
    """
    lines = comparison[(comparison["kind"] == "arm") & (comparison["metric"] == compare["metrics"][0])]
    return {
        str(arm): round(float(value), 4) for arm, value in lines.set_index("arm")["value"].dropna().items()
    }


def show_seeds(
    comparison: pd.DataFrame,
    seeds_results: pd.DataFrame,
    ingest: dict[str, Any],
    settings: dict[str, Any],
    **sections: dict[str, Any],
) -> list[dict[str, Any]]:
    """Print below the table what one seed cannot say, and what several gave.

    Args:
        comparison: of `compare_arms`, which prints the table.
        seeds_results: the table of the study of the shipped parameters over seeds.
        ingest: the section `ingest`; of other films the shipped table says nothing.
        settings: the section `compare`.
        **sections: those that rows are decided by, `radrl.params.rows.RowSections`.

    Returns:
        The lines of the table that are of these arms, settings and films, of the first metric.
    """
    from radrl.params.data import Ingest
    from radrl.params.rows import row_digests
    from radrl.pipelines.compare import summary, tables

    metric, reference = settings["metrics"][0], settings["reference"]
    corpus = Ingest.model_validate(ingest).digest()
    lines = summary.shipped_over_seeds(
        seeds_results,
        metric,
        {*comparison["arm"]},
        corpus=corpus,
        settings=row_digests(sections),
        reference=reference,
    )
    tables.print_over_seeds(lines, metric, reference)
    return lines


def show_findings(comparison: pd.DataFrame, arm_histories: ArmTables, arms: dict[str, Any]) -> None:
    """Print below the table whether the arms had levelled off, and what their histories say is wrong.

    Args:
        comparison: of `compare_arms`, which prints the table.
        arm_histories: of `radrl.pipelines.compare.inputs.gather_of_trained`.
        arms: the section `arms`, so that nobody is told to do what an arm does.
    """
    from radrl.pipelines.compare import tables

    tables.print_diagnoses(diagnose_histories(arm_histories, arms))


def write_cards(
    comparison: pd.DataFrame,
    arm_reports: ArmTables,
    arm_histories: ArmTables,
    ingest_summary: dict[str, Any],
    generate: dict[str, Any],
    settings: ComparisonSettings,
) -> Callable[[Path], None]:
    """Write a model card an arm.

    Args:
        comparison: of `compare_arms`.
        arm_reports: of `radrl.pipelines.compare.inputs.gather_reports`.
        arm_histories: of `radrl.pipelines.compare.inputs.gather_of_trained`.
        ingest_summary: counts of the stage ingest.
        generate: the section `generate`, which says on what the arms were scored.
        settings: of `settle_comparison`.

    Returns:
        What fills the folder they lie in.
    """
    from radrl.pipelines.compare.arm_pages import write_card

    told = diagnose_histories(arm_histories, settings.arms)
    texts = {
        arm: write_card(
            arm,
            comparison,
            films=len(reports),
            split=generate["split"],
            history=arm_histories.get(arm, pd.DataFrame()),
            told=told.get(arm),
            ingest=ingest_summary,
            settings=settings,
        )
        for arm, reports in arm_reports.items()
    }

    def fill(folder: Path) -> None:
        for arm, text in texts.items():
            (folder / f"{arm}.md").write_text(text, encoding="utf-8")

    return fill


def count_selected_films(
    selected: Callable[..., dict[str, Any]], arm_histories: ArmTables, arms: dict[str, Any]
) -> list[Subset]:
    """Tell which training films the selections took.

    Args:
        selected: reads what the stages that select left, by dataset; leaves out what is not there.
        arm_histories: of `radrl.pipelines.compare.inputs.gather_of_trained`; the arms that trained.
        arms: the section `arms`.

    Returns:
        A subset each, of `radrl.pipelines.compare.inputs.subsets`: those of the stages that an arm's
        films come from.
    """
    from radrl.pipelines.compare import inputs

    return inputs.subsets(selected(*inputs.selection_datasets(arms, arm_histories)), arms)


def count_rollouts(
    arm_histories: ArmTables, training: dict[str, Any], arms: dict[str, Any]
) -> dict[str, TrainingLength]:
    """Tell how long each arm trained.

    Args:
        arm_histories: of `radrl.pipelines.compare.inputs.gather_of_trained`.
        training: the section `training`.
        arms: the section `arms`.

    Returns:
        By arm its updates and rollouts.
    """
    from radrl.pipelines.compare.training import training_lengths

    return training_lengths(arms, training, arm_histories)


def gather_page_context(
    published: pd.DataFrame,
    over_seeds: Sequence[dict[str, Any]],
    ingest_summary: dict[str, Any],
    labeler_report: dict[str, Any],
    systems: dict[str, System],
    selected_films: Sequence[Subset],
    trained: dict[str, TrainingLength],
) -> PageContext:
    """Put together what the page tells beside the arms' own results; see `PageContext`.

    Args:
        published: the papers' results.
        over_seeds: of `show_seeds`.
        ingest_summary: counts of the stage ingest.
        labeler_report: of the stage labeler.
        systems: of `read_systems`.
        selected_films: of `count_selected_films`.
        trained: of `count_rollouts`.
    """
    return PageContext(
        published, over_seeds, ingest_summary, labeler_report, systems, selected_films, trained
    )


def write_page(
    comparison: pd.DataFrame,
    pairs: pd.DataFrame,
    agreement: pd.DataFrame,
    arm_reports: ArmTables,
    arm_histories: ArmTables,
    forest: str,
    curves: str,
    corpus: ds.Dataset,
    arm_rollouts: ArmTables,
    context: PageContext,
    settings: ComparisonSettings,
) -> str:
    """Write the page that holds the whole comparison.

    Args:
        comparison: of `compare_arms`.
        pairs: of `compare_arms`.
        agreement: of `compare_arms`.
        arm_reports: of `radrl.pipelines.compare.inputs.gather_reports`.
        arm_histories: of `radrl.pipelines.compare.inputs.gather_of_trained`.
        forest: of `draw_comparison`, the SVG element.
        curves: of `draw_curves`, the SVG element.
        corpus: the films.
        arm_rollouts: of `radrl.pipelines.compare.inputs.gather_of_trained`; it links to their pages.
        context: of `gather_page_context`.
        settings: of `settle_comparison`; the seed decides which films are shown.

    Returns:
        One HTML page that needs nothing else; notes on the run lie beside it (`radrl.pages.run_notes`).
    """
    from radrl.pipelines.compare import page

    shown = page.draw_films(arm_reports, count=settings.compare["examples"], seed=settings.seed)
    return page.render(
        comparison,
        pairs,
        agreement,
        arm_reports,
        arm_histories,
        forest=forest,
        curves=curves if arm_histories else None,
        told=diagnose_histories(arm_histories, settings.arms),
        films=corpora.pictures(corpus, shown),
        boxes=corpora.boxes(corpus, shown),
        rollout_pages=list(arm_rollouts),
        context=context,
        settings=settings,
    )


def _all_rows(
    arm_reports: ArmTables, ceilings: pd.DataFrame, corpus: ds.Dataset, settings: ComparisonSettings
) -> dict[str, Row]:
    """The rows of the table by name, with what the corpus says in answer to the films that were scored."""
    from radrl.data.thumbnails import nearest_training_films
    from radrl.pipelines.compare import rows
    from radrl.pipelines.scored_texts import in_both_forms

    films = next(iter(arm_reports.values()))["sample_id"].tolist()
    training = nearest = None
    if corpora.holds(corpus, "train"):
        known = corpora.read(corpus, split="train", columns=["sample_id", "report", "label_text"])
        training = known.set_index("sample_id")
        nearest = training.loc[nearest_training_films(corpus, films)]
    forms = partial(in_both_forms, settings=settings.eval)
    return rows.all_rows(arm_reports, training, nearest, ceilings, seed=settings.seed, forms=forms)
