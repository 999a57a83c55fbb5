"""The pipeline that makes the table."""

from kedro.pipeline import Pipeline, node, pipeline

from spaceflights.pipelines.data_processing.nodes import join


def create_pipeline() -> Pipeline:
    """One node."""
    return pipeline([node(join, ["companies", "shuttles", "reviews"], "model_input_table", name="join")])
