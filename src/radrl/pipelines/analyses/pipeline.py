"""Wiring of the stage analyses."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.analyses.nodes import (
    draw_analyses,
    mask_tokens,
    measure_rewards,
    write_token_weights,
)


def create_pipeline() -> Pipeline:
    """Rollouts -> table of masked tokens, table of rewards, figure of both, page of token weights."""
    common = {
        "rollouts": "rollouts",
        "corpus": "corpus",
        "labeler_models": "labeler_models",
        "ingest_summary": "ingest_summary",
        "settings": "params:analyses",
        "labeler": "params:labeler",
        "seed": "params:seed",
    }
    tabulated = {"published": "published_results", "bootstrap": "params:compare.bootstrap"}
    tokens = {"start": "sft_policy", "threads": "params:threads"}
    return pipeline(
        [
            node(
                mask_tokens,
                common | tabulated | tokens | {"readers": "params:eval.labelers"},
                "masking",
                name="mask_tokens",
            ),
            node(
                measure_rewards,
                common
                | tabulated
                | {
                    "subset_random": "subset_random",
                    "subset_ddsampling": "subset_ddsampling",
                    "diversity": "diversity",
                },
                "reward_diversity",
                name="measure_rewards",
            ),
            node(
                draw_analyses,
                ["masking", "reward_diversity", "published_results", "ingest_summary"],
                "analyses_figure",
                name="draw_analyses",
            ),
            node(
                write_token_weights,
                common | tokens | {"labels": "labels"},
                "token_weights_page",
                name="write_token_weights",
            ),
        ]
    )
