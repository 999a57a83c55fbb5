"""Chunks of equal length in the vision tower attend as one batch.

Qwen2.5-VL's tower attends within windows, or within films, laid end to end. Under torch's attention
transformers asks for each in turn, in Python. Asked as flash attention is, with the whole and where its
chunks end, `attend` puts those of equal length into one batch; a chunk's result is its own in either case.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

NAME: Final = "flash_like_chunks"
"""Of `attend` among transformers' attention functions; those with "flash" in it are told where chunks end."""


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    *,
    cu_seq_lens_q: torch.Tensor,
    scaling: float,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention within each of C chunks, by torch's.

    Args:
        module: the layer.
        query: of all chunks, end to end, shape (1, heads, N, D).
        key: the same.
        value: the same.
        attention_mask: none.
        cu_seq_lens_q: where chunks begin and end, shape (C + 1,).
        scaling: of the scores.
        dropout: share of the weights that is dropped.

    Returns:
        Shape (1, N, heads, D), and nothing, for weights are not kept.
    """
    ends = cu_seq_lens_q.tolist()
    lengths = [end - start for start, end in pairwise(ends)]
    tokens = [states[0].transpose(0, 1) for states in (query, key, value)]  # (N, heads, D)
    settings = {"attention_mask": None, "scaling": scaling, "dropout": dropout, "is_causal": False}

    def alike(states: list[torch.Tensor], length: int) -> torch.Tensor:
        batch = [
            own.unflatten(0, (-1, length)).transpose(1, 2) for own in states
        ]  # (chunks, heads, length, D)
        return sdpa_attention_forward(module, *batch, **settings)[0].flatten(0, 1)

    kinds = sorted(set(lengths))
    if len(kinds) == 1:
        return alike(tokens, kinds[0])[None], None
    of_token = torch.tensor(lengths, device=query.device).repeat_interleave(
        torch.tensor(lengths, device=query.device)
    )
    places = [(of_token == length).nonzero()[:, 0] for length in kinds]
    found = [
        alike([own.index_select(0, at) for own in tokens], length)
        for at, length in zip(places, kinds, strict=True)
    ]
    back = torch.cat(places).argsort()
    return torch.cat(found).index_select(0, back)[None], None


AttentionInterface.register(NAME, attend)


def enable(model: Any) -> None:
    """Let equal chunks of a tower attend together; one whose attention is not torch's is left as it is.

    Args:
        model: a Qwen2.5-VL without wrappers.
    """
    tower = model.model.visual.config
    if tower._attn_implementation == "sdpa":
        tower._attn_implementation = NAME
