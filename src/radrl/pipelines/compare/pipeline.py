"""Wiring of the stage compare."""

from collections.abc import Sequence
from typing import Final

from kedro.pipeline import Node, Pipeline, node, pipeline

from radrl.pipelines.compare.arm_pages import write_rollout_pages
from radrl.pipelines.compare.inputs import gather_of_trained, gather_reports
from radrl.pipelines.compare.nodes import (
    compare_arms,
    count_rollouts,
    count_selected_films,
    draw_comparison,
    draw_curves,
    gather_page_context,
    pick_headline,
    read_systems,
    settle_comparison,
    show_findings,
    show_seeds,
    write_cards,
    write_page,
)

DECIDING: Final = (
    "prompts",
    "labeler",
    "policy",
    "sft",
    "rollouts",
    "selection",
    "training",
    "arms",
    "generate",
    "eval",
    "ceilings",
)
"""The sections that rows are decided by, `radrl.params.rows.RowSections`."""


def create_pipeline(arms: Sequence[str]) -> Pipeline:
    """Every arm's reports and training curve -> table, figures and page.

    Args:
        arms: names of the arms.
    """
    return pipeline([*_gathering(arms), *_table(), *_figures(), *_page(), _cards(), _rollouts()])


def _gathering(arms: Sequence[str]) -> list[Node]:
    per_report = {arm: f"{arm}.per_report" for arm in arms}
    histories = {arm: f"{arm}.history" for arm in arms}
    rollouts = {arm: f"{arm}.watched_rollouts" for arm in arms}
    sections = {name: f"params:{name}" for name in ("compare", "eval", "labeler", "arms", "seed", "device")}
    return [
        node(gather_reports, per_report, "arm_reports", name="gather_reports"),
        node(gather_of_trained, histories, "arm_histories", name="gather_histories"),
        node(gather_of_trained, rollouts, "arm_rollouts", name="gather_rollouts"),
        node(settle_comparison, sections, "comparison_settings", name="settle_comparison"),
    ]


def _table() -> list[Node]:
    """What is printed as well."""
    read = ["systems", "arm_reports", "comparison_settings"]
    compared = ["arm_reports", "ceilings", "corpus", "labeler_models", "system_scores", "comparison_settings"]
    over_seeds = {name: name for name in ("comparison", "seeds_results")}
    over_seeds |= {"ingest": "params:ingest", "settings": "params:compare"}
    over_seeds |= {name: f"params:{name}" for name in DECIDING}
    histories = ["comparison", "arm_histories", "params:arms"]
    return [
        node(read_systems, read, "system_scores", name="read_systems"),
        node(compare_arms, compared, ["comparison", "comparison_pairs", "agreement"], name="compare_arms"),
        node(pick_headline, ["comparison", "params:compare"], "comparison_headline", name="pick_headlines"),
        node(show_seeds, over_seeds, "over_seeds", name="show_seeds"),
        node(show_findings, histories, None, name="show_findings"),
    ]


def _figures() -> list[Node]:
    compared = ["comparison", "params:compare"]
    return [
        node(draw_comparison, compared, ["comparison_figure", "comparison_svg"], name="draw_comparison"),
        node(draw_curves, ["arm_histories", "labels"], ["curves_figure", "curves_svg"], name="draw_curves"),
    ]


def _page() -> list[Node]:
    context = [
        "published_results",
        "over_seeds",
        "ingest_summary",
        "labeler_report",
        "system_scores",
        "selected_films",
        "trained",
    ]
    picked = {"selected": "selected", "arm_histories": "arm_histories", "arms": "params:arms"}
    learnt = ["arm_histories", "params:training", "params:arms"]
    told = {name: name for name in ("comparison", "agreement", "arm_reports", "arm_histories", "corpus")}
    told |= {"pairs": "comparison_pairs", "arm_rollouts": "arm_rollouts"}
    told |= {"forest": "comparison_svg", "curves": "curves_svg"}
    told |= {"context": "page_context", "settings": "comparison_settings"}
    return [
        node(count_selected_films, picked, "selected_films", name="count_selected_films"),
        node(count_rollouts, learnt, "trained", name="count_rollouts"),
        node(gather_page_context, context, "page_context", name="gather_page_context"),
        node(write_page, told, "comparison_page", name="write_page"),
    ]


def _cards() -> Node:
    told = ["comparison", "arm_reports", "arm_histories", "ingest_summary", "params:generate"]
    return node(write_cards, [*told, "comparison_settings"], "comparison_cards", name="write_cards")


def _rollouts() -> Node:
    told = ["arm_rollouts", "corpus", "ingest_summary"]
    return node(write_rollout_pages, told, "rollout_pages", name="write_rollout_pages")
