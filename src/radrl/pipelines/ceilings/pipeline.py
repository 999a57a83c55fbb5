"""Wiring of the stage ceilings."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.ceilings.nodes import read_labels


def create_pipeline() -> Pipeline:
    """Films and labels, base policy, the policy of `ceilings.start` -> labels read off the scored films."""
    return pipeline(
        [
            node(
                read_labels,
                {
                    "corpus": "corpus",
                    "labels": "labels",
                    "base": "base_policy",
                    "start": "start",
                    "settings": "params:ceilings",
                    "split": "params:generate.split",
                    "labeler": "params:labeler.name",
                    "dtype": "params:policy.dtype",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                },
                ["ceilings", "ceilings_summary"],
                name="read_labels",
            )
        ]
    )
