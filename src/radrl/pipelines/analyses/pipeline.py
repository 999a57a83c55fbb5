"""Wiring of the stage analyses."""

from collections.abc import Iterable

from kedro.pipeline import Node, Pipeline, node, pipeline

from radrl.pipelines.analyses.nodes import (
    draw_analyses,
    draw_pools,
    mask_tokens,
    measure_rewards,
    settle_analyses,
    write_token_weights,
)


def create_pipeline() -> Pipeline:
    """Rollouts -> table of masked tokens, table of rewards, figure of both, page of token weights."""
    return pipeline([_settling(), *_tables(), *_pictures()])


def _settling() -> Node:
    sections = {name: f"params:{name}" for name in ("analyses", "labeler", "seed", "threads", "device")}
    sections |= {"bootstrap": "params:compare.bootstrap", "readers": "params:eval.labelers"}
    return node(settle_analyses, sections, "analysis_settings", name="settle_analyses")


def _tables() -> list[Node]:
    """Of tokens masked (table 6) and of rewards (table 7)."""
    masked = _common() | {"start": "sft_policy", "published": "published_results"}
    drawn = _by_name(["rollouts", "subset_random", "subset_ddsampling", "subset_most_diverse"])
    drawn |= {"settings": "analysis_settings"}
    measured = _common() | {"pools": "reward_pools", "published": "published_results"}
    return [
        node(mask_tokens, masked, "masking", name="mask_tokens"),
        node(draw_pools, drawn, "reward_pools", name="draw_pools"),
        node(measure_rewards, measured, "reward_diversity", name="measure_rewards"),
    ]


def _pictures() -> list[Node]:
    tables = ["masking", "reward_diversity", "published_results", "ingest_summary"]
    shown = _common() | {"start": "sft_policy", "labels": "labels"}
    return [
        node(draw_analyses, tables, "analyses_figure", name="draw_analyses"),
        node(write_token_weights, shown, "token_weights_page", name="write_token_weights"),
    ]


def _common() -> dict[str, str]:
    """What all take that read rollouts."""
    own = _by_name(["rollouts", "corpus", "labeler_models", "ingest_summary"])
    return own | {"settings": "analysis_settings"}


def _by_name(datasets: Iterable[str]) -> dict[str, str]:
    """Arguments that are called like their datasets."""
    return {name: name for name in datasets}
