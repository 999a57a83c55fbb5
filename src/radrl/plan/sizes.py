"""The sizes of a policy that memory and time follow from, read off its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """A stack of layers: the vision tower or the language model.

    Args:
        layers: how many.
        hidden: width of what goes from layer to layer.
        heads: width of the queries of all heads.
        keys: width of the keys, or of the values, of all heads.
        feed_forward: width within the feed-forward part.
        gated: whether that has a gate (SwiGLU); else one product, an activation, another product.
        fused: whether queries, keys and values are one product, so that a view of one holds all three.
    """

    layers: int
    hidden: int
    heads: int
    keys: int
    feed_forward: int
    gated: bool = True
    fused: bool = False


@dataclass(frozen=True, slots=True)
class Sizes:
    """A policy.

    Args:
        tower: the vision tower, whose tokens are patches.
        language: the language model.
        vocabulary: entries of the embedding.
        patch: side of a patch in pixels.
        merge: patches of a side that become one token.
        values: numbers that a patch is given as.
    """

    tower: Part
    language: Part
    vocabulary: int
    patch: int
    merge: int
    values: int


def of_config(config: Any) -> Sizes:
    """The sizes in a configuration of transformers.

    Args:
        config: of a Qwen2.5-VL or a Qwen3-VL.
    """
    text, seen = config.get_text_config(), config.vision_config
    head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    language = Part(
        text.num_hidden_layers,
        text.hidden_size,
        text.num_attention_heads * head,
        text.num_key_value_heads * head,
        text.intermediate_size,
    )
    tower = Part(
        seen.depth,
        seen.hidden_size,
        seen.hidden_size,
        seen.hidden_size,
        seen.intermediate_size,
        gated=seen.hidden_act == "silu",
        fused=True,
    )
    values = seen.in_channels * seen.temporal_patch_size * seen.patch_size**2
    return Sizes(tower, language, text.vocab_size, seen.patch_size, seen.spatial_merge_size, values)
