"""Wiring of the stage eval."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.eval.nodes import pick_headline, print_arms, score_reports


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
