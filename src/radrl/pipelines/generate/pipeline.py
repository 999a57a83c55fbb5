"""Wiring of the stage generate."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.generate.nodes import write_reports


def create_pipeline() -> Pipeline:
    """An arm's policy, films -> its reports."""
    return pipeline(
        [
            node(
                write_reports,
                {
                    "corpus": "corpus",
                    "policy": "policy",
                    "settings": "params:generate",
                    "dtype": "params:policy.dtype",
                    "prompts": "params:prompts",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                    "arm": "params:arm",
                    "step_report": "step_report",
                    "compute": "compute",
                },
                "reports",
                name="write_reports",
            )
        ]
    )
