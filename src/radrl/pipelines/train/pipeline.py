"""Wiring of the stage train."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.train.nodes import settle_arm, train_arm


def create_pipeline() -> Pipeline:
    """An arm's start and subset -> its policy."""
    return pipeline(
        [
            node(
                settle_arm,
                {
                    "arm": "params:arm",
                    "training": "params:training",
                    "labeler": "params:labeler",
                    "dtype": "params:policy.dtype",
                    "prompts": "params:prompts",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                },
                "settings",
                name="settle_arm",
            ),
            node(
                train_arm,
                {
                    "corpus": "corpus",
                    "start": "start",
                    "subset": "subset",
                    "labeler_models": "labeler_models",
                    "settings": "settings",
                    "workspace": "workspace",
                    "step_report": "step_report",
                    "compute": "compute",
                    "observers": "observers",
                },
                ["policy", "history"],
                name="train_arm",
            ),
        ]
    )
