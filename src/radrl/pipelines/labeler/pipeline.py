"""Wiring of the stage labeler."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.labeler.nodes import check_labeler


def create_pipeline() -> Pipeline:
    """Corpus -> the labeler's agreement report."""
    return pipeline(
        [node(check_labeler, ["corpus", "params:labeler"], "labeler_report", name="check_labeler")]
    )
