"""Wiring of the stage label."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.label.nodes import label_reports


def create_pipeline() -> Pipeline:
    """Corpus -> labels of the reference reports."""
    return pipeline([node(label_reports, ["corpus", "params:labeler"], "labels", name="label_reports")])
