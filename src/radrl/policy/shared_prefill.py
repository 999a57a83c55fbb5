"""Rollouts of one film share its encoding and the prefill of its prompt.

Each distinct prompt with its films goes through the model once; its keys and values are handed to all of its
rollouts, and generation goes on from there. What is drawn is drawn in the same order from the same logits, up
to float rounding. The idea is vLLM's prefix sharing for parallel sampling (Kwon et al. 2023, section 4.4),
here by copies, since transformers' cache has no blocks.

Only what transformers offers to everyone is used: a cache is made by the forward pass, cut by its last token,
spread over rows, and given to `generate`, which computes that last token again for each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from transformers import Qwen2_5_VLForConditionalGeneration

Inputs = Mapping[str, torch.Tensor]
"""The tensors of `radrl.policy.processor.FilmProcessor` for B prompts."""


@torch.no_grad()
def prefilled(model: Any, inputs: Inputs, owners: torch.Tensor) -> dict[str, Any]:
    """What `model.generate` goes on from, after each prompt went through the model once.

    Args:
        model: a Qwen2.5-VL, bare or with adapters.
        inputs: P prompts with their films, left-padded to T tokens.
        owners: the prompt of each of N rows to be generated, shape (N,).

    Returns:
        input_ids and attention_mask, both (N, T), and past_key_values of their first T - 1 tokens.
    """
    cache = model(**inputs, use_cache=True, logits_to_keep=1).past_key_values
    cache.crop(-1)
    cache.batch_select_indices(owners)
    backbone = bare(model).model
    backbone.rope_deltas = backbone.rope_deltas[owners]  # positions after the films are less than indices
    rows = {name: inputs[name][owners] for name in ("input_ids", "attention_mask")}
    return {**rows, "past_key_values": cache}


@contextmanager
def sharing(model: Qwen2_5_VLForConditionalGeneration) -> Iterator[None]:
    """A block in which `model.generate` prefills equal neighbours among its rows once.

    Whatever wraps the model and calls its `generate` gets this one. Where no rows are equal it does the same,
    so that processes that share sharded weights make equally many forward passes.

    Args:
        model: without adapters or wrappers around it.
    """
    plain = model.generate
    model.generate = partial(_generate, model, plain)
    try:
        yield
    finally:
        del model.generate


def _generate(
    model: Any,
    plain: Any,
    *,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    mm_token_type_ids: torch.Tensor,
    pixel_values: torch.Tensor,
    image_grid_thw: torch.Tensor,
    **settings: Any,
) -> Any:
    tokens = {
        "input_ids": input_ids,
        "attention_mask": attention_mask,
        "mm_token_type_ids": mm_token_type_ids,
    }
    pixels, grids = by_row(mm_token_type_ids, pixel_values, image_grid_thw, model.config)
    first, owners = equal_neighbours(tokens["input_ids"], tokens["attention_mask"], pixels, grids)
    distinct = {name: own[first] for name, own in tokens.items()}
    distinct["pixel_values"] = torch.cat([pixels[row] for row in first.tolist()])
    distinct["image_grid_thw"] = torch.cat([grids[row] for row in first.tolist()])
    return plain(**prefilled(model, distinct, owners), **settings)


def by_row(
    kinds: torch.Tensor, pixel_values: torch.Tensor, image_grid_thw: torch.Tensor, config: Any
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The patches and the grids of each of N rows.

    Args:
        kinds: 1 where a token stands for a part of a film (mm_token_type_ids), shape (N, T).
        pixel_values: patches of all films, in the order of rows, shape (patches, values).
        image_grid_thw: of each film its patches along time, height and width, shape (films, 3).
        config: the model's.

    Returns:
        N of each, (patches of a row, values) and (films of a row, 3).
    """
    patches = (kinds == 1).sum(dim=1) * config.vision_config.spatial_merge_size**2  # (N,)
    films = torch.bincount(
        torch.searchsorted(patches.cumsum(0), image_grid_thw.prod(dim=-1).cumsum(0)), minlength=len(kinds)
    )
    return list(pixel_values.split(patches.tolist())), list(image_grid_thw.split(films.tolist()))


def equal_neighbours(*columns: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Runs of rows that are equal in everything.

    Args:
        *columns: each N tensors, as a list or stacked.

    Returns:
        The first row of each of P runs, shape (P,), and the run of each row, shape (N,).

    Example:
        >>> first, owners = equal_neighbours(torch.tensor([[7], [7], [8], [7]]))
        >>> first.tolist(), owners.tolist()
        ([0, 2, 3], [0, 0, 1, 2])
    """
    device = columns[0][0].device
    new = [
        row == 0 or not all(torch.equal(column[row], column[row - 1]) for column in columns)
        for row in range(len(columns[0]))
    ]
    starts = torch.tensor(new, device=device)
    return starts.nonzero()[:, 0], starts.long().cumsum(0) - 1


def bare(model: Any) -> Qwen2_5_VLForConditionalGeneration:
    """A model without the adapters around it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
