"""Wiring of the stage ddsampling."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.ddsampling.nodes import (
    label_rollouts,
    score_diversity,
    take_drawn,
    take_most_diverse,
)


def create_pipeline() -> Pipeline:
    """Rollouts -> diversity -> subset that is drawn by it, subset that is not."""
    return pipeline(
        [
            node(
                label_rollouts,
                {
                    "rollouts": "rollouts",
                    "labeler_models": "labeler_models",
                    "labeler": "params:labeler",
                    "device": "params:device",
                    "threads": "params:threads",
                    "compute": "compute",
                },
                "rollout_labels",
                name="label_rollouts",
            ),
            node(
                score_diversity,
                ["rollout_labels", "params:selection.ddsampling", "params:seed"],
                "diversity",
                name="score_diversity",
            ),
            node(
                take_most_diverse,
                ["rollout_labels", "params:selection.most_diverse", "params:seed"],
                "subset_most_diverse",
                name="take_most_diverse",
            ),
            node(
                take_drawn,
                ["diversity", "subset_most_diverse", "corpus", "labels"],
                ["subset_ddsampling", "ddsampling_summary"],
                name="take_drawn",
            ),
        ]
    )
