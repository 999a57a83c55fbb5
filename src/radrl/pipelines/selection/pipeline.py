"""Wiring of the stage selection."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.selection.nodes import make_subsets, score_diversity


def create_pipeline() -> Pipeline:
    """Rollouts -> diversity -> subsets."""
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
                ],
                "diversity",
                name="score_diversity",
            ),
            node(
                make_subsets,
                ["corpus", "labels", "diversity", "params:selection", "params:seed"],
                ["subset_full", "subset_random", "subset_ddsampling", "subset_balanced", "selection_summary"],
                name="make_subsets",
            ),
        ]
    )
