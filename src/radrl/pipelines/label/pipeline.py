"""Wiring of the stage label."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.label.nodes import label_reports


def create_pipeline() -> Pipeline:
    """Corpus -> labels of the reference reports."""
    inputs = ["corpus", "labeler_models", "params:labeler", "params:device", "params:threads", "compute"]
    return pipeline([node(label_reports, inputs, "labels", name="label_reports")])
