"""Wiring of the stage policy."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.policy.nodes import make_base_policy


def create_pipeline() -> Pipeline:
    """Corpus (its own split) -> base policy."""
    return pipeline(
        [
            node(
                make_base_policy,
                {
                    "corpus": "corpus",
                    "settings": "params:policy",
                    "source": "params:ingest.source",
                    "image_size": "params:ingest.image_size",
                    "prompts": "params:prompts",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                    "workspace": "base_workspace",
                    "step_report": "step_report",
                },
                ["base_policy", "base_history"],
                name="make_base_policy",
            )
        ]
    )
