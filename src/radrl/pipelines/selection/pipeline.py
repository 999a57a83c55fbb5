"""Wiring of the stage selection."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.selection.nodes import make_subsets


def create_pipeline() -> Pipeline:
    """Corpus, labels -> subsets."""
    return pipeline(
        [
            node(
                make_subsets,
                ["corpus", "labels", "params:selection", "params:seed"],
                ["subset_full", "subset_random", "subset_balanced", "selection_summary"],
                name="make_subsets",
            ),
        ]
    )
