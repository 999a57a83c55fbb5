"""Wiring of the stage rollouts."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.rollouts.nodes import sample_rollouts


def create_pipeline() -> Pipeline:
    """Training films, cold-started policy -> K reports a film."""
    return pipeline(
        [
            node(
                sample_rollouts,
                {
                    "corpus": "corpus",
                    "start": "sft_policy",
                    "settings": "params:rollouts",
                    "dtype": "params:policy.dtype",
                    "prompt": "params:prompts.plain",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                    "workspace": "rollouts_workspace",
                    "compute": "compute",
                },
                "rollouts",
                name="sample_rollouts",
            )
        ]
    )
