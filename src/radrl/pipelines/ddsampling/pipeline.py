"""Wiring of the stage ddsampling."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.ddsampling.nodes import score_diversity, take_drawn


def create_pipeline() -> Pipeline:
    """Rollouts -> diversity -> subset."""
    return pipeline(
        [
            node(
                score_diversity,
                [
                    "rollouts",
                    "labeler_models",
                    "params:labeler",
                    "params:selection.ddsampling",
                    "params:seed",
                    "params:device",
                ],
                "diversity",
                name="score_diversity",
            ),
            node(
                take_drawn,
                ["diversity", "corpus", "labels"],
                ["subset_ddsampling", "ddsampling_summary"],
                name="take_drawn",
            ),
        ]
    )
