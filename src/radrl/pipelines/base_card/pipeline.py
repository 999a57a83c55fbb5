"""Wiring of the model card; not a stage of the study, but of `make base`."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.base_card.nodes import measure_base, write_card


def create_pipeline() -> Pipeline:
    """Base policy and films that no training saw -> its model card."""
    return pipeline(
        [
            node(
                measure_base,
                {
                    "corpus": "corpus",
                    "base": "base_policy",
                    "prompts": "params:prompts",
                    "max_new_tokens": "params:generate.max_new_tokens",
                    "labeler": "params:labeler",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                },
                "base_numbers",
                name="measure_base",
            ),
            node(
                write_card,
                {
                    "base": "base_policy",
                    "numbers": "base_numbers",
                    "history": "base_history",
                    "ingest": "params:ingest",
                    "policy": "params:policy",
                    "seed": "params:seed",
                },
                "base_card",
                name="write_card",
            ),
        ]
    )
