"""Wiring of the stage compare."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.compare.nodes import (
    compare_arms,
    draw_comparison,
    draw_curves,
    gather_histories,
    gather_reports,
    show_findings,
    show_seeds,
    write_page,
)


def create_pipeline(arms: Sequence[str]) -> Pipeline:
    """Every arm's reports and training curve -> table, figures and page.

    Args:
        arms: names of the arms.
    """
    parameters = {
        "settings": "params:compare",
        "eval_settings": "params:eval",
        "labeler": "params:labeler",
        "seed": "params:seed",
    }
    per_report = {arm: f"{arm}.per_report" for arm in arms}
    histories = {arm: f"{arm}.history" for arm in arms}
    return pipeline(
        [
            node(gather_reports, per_report, "arm_reports", name="gather_reports"),
            node(gather_histories, histories, "arm_histories", name="gather_histories"),
            node(
                compare_arms,
                {
                    "arm_reports": "arm_reports",
                    "ceilings": "ceilings",
                    "corpus": "corpus",
                    "labeler_models": "labeler_models",
                    **parameters,
                },
                "comparison",
                name="compare_arms",
            ),
            node(
                draw_comparison, ["comparison", "params:compare"], "comparison_figure", name="draw_comparison"
            ),
            node(
                show_seeds,
                ["comparison", "seeds_results", "params:ingest", "params:compare"],
                "over_seeds",
                name="show_seeds",
            ),
            node(show_findings, ["comparison", "arm_histories", "params:arms"], None, name="show_findings"),
            node(draw_curves, ["arm_histories", "labels"], "curves_figure", name="draw_curves"),
            node(
                write_page,
                {
                    "comparison": "comparison",
                    "arm_reports": "arm_reports",
                    "arm_histories": "arm_histories",
                    "labels": "labels",
                    "corpus": "corpus",
                    "published": "published_results",
                    "over_seeds": "over_seeds",
                    "ingest_summary": "ingest_summary",
                    "labeler_report": "labeler_report",
                    "arms": "params:arms",
                    **parameters,
                },
                "comparison_page",
                name="write_page",
            ),
        ]
    )
