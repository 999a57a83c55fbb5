"""Wiring of the stage labeler."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.labeler.nodes import check_labelers, make_labelers


def create_pipeline() -> Pipeline:
    """Corpus -> the labelers' models and their agreement report."""
    return pipeline(
        [
            node(
                make_labelers,
                ["corpus", "params:labeler", "params:seed", "params:threads", "step_report"],
                ["labeler_models", "labeler_history"],
                name="make_labelers",
            ),
            node(
                check_labelers,
                ["corpus", "labeler_models", "params:labeler", "params:device"],
                "labeler_report",
                name="check_labelers",
            ),
        ]
    )
