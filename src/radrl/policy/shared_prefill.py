"""Rollouts of one film share its encoding and the reading of its prompt.

Each distinct prompt with its films goes through the model once; all of its rollouts are written from there
(`radrl.policy.decoding`), as vLLM does for parallel sampling (Kwon et al. 2023, section 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from transformers import Qwen2_5_VLForConditionalGeneration

from radrl.policy.decoding import Inputs, decode


def write_on(
    model: Any,
    inputs: Inputs,
    owners: torch.Tensor,
    *,
    numbers: torch.Tensor | None = None,
    generate: Callable[..., Any] | None = None,
    **settings: Any,
) -> torch.Tensor:
    """Let a model write several rollouts on prompts that are read once each.

    Args:
        model: a Qwen2.5-VL, with or without wrappers.
        inputs: P prompts with their films, left-padded to T tokens.
        owners: the prompt of each of N rows, shape (N,).
        numbers: of the draws, as `radrl.policy.decoding.decode` takes them.
        generate: in place of the model's own.
        **settings: as `generate` takes them.

    Returns:
        Prompts and rollouts, padded behind their ends, (N, T + tokens of the longest).
    """
    loop = partial(decode, prompts=dict(inputs), owners=owners, numbers=numbers)
    rows = {name: inputs[name][owners] for name in ("input_ids", "attention_mask")}
    ids: torch.Tensor = (generate or model.generate)(**rows, custom_generate=loop, **settings)
    return ids


@contextmanager
def sharing(model: Qwen2_5_VLForConditionalGeneration) -> Iterator[None]:
    """A block in which `model.generate` reads equal neighbours among its rows once (`radrl.policy.decoding`).

    Whatever wraps the model and calls its `generate` gets this one.

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
    return write_on(model, distinct, owners, generate=plain, **settings)


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
