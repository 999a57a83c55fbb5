"""The pipeline of one model; the registry puts it under each model's name."""

from kedro.pipeline import Pipeline, node, pipeline

from spaceflights.pipelines.data_science.nodes import evaluate, split, train


def create_pipeline() -> Pipeline:
    """Split, train, evaluate."""
    return pipeline(
        [
            node(split, ["model_input_table", "params:test_share"], ["known", "held_out"], name="split"),
            node(train, ["known", "params:model"], "regressor", name="train"),
            node(evaluate, ["regressor", "held_out", "params:model"], "scores", name="evaluate"),
        ]
    )
