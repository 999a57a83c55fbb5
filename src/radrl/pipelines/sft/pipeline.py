"""Wiring of the stage sft."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.sft.nodes import cold_start


def create_pipeline() -> Pipeline:
    """Base policy, training reports -> cold-started policy."""
    return pipeline(
        [
            node(
                cold_start,
                {
                    "corpus": "corpus",
                    "base": "base_policy",
                    "settings": "params:sft",
                    "dtype": "params:policy.dtype",
                    "prompt": "params:prompts.plain",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                    "workspace": "sft_workspace",
                    "step_report": "step_report",
                    "compute": "compute",
                },
                ["sft_policy", "sft_history"],
                name="cold_start",
            )
        ]
    )
