"""Rollouts of one film share its encoding and the reading of its prompt.

Each distinct prompt with its films goes through the model once; all of its rollouts are written from there
(`radrl.policy.decoding`), as vLLM does for parallel sampling (Kwon et al. 2023, section 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from transformers import PreTrainedModel

from radrl.policy import families
from radrl.policy.decoding import decode
from radrl.policy.family import Inputs
from radrl.policy.qwen import by_row as by_row


def write_on(
    model: Any,
    inputs: Inputs,
    owners: torch.Tensor,
    *,
    numbers: torch.Tensor | None = None,
    shares: torch.Tensor | None = None,
    generate: Callable[..., Any] | None = None,
    **settings: Any,
) -> torch.Tensor:
    """Let a model write several rollouts on prompts that are read once each.

    Args:
        model: of a known family, with or without wrappers.
        inputs: P prompts with their films, left-padded to T tokens.
        owners: the prompt of each of N rows, shape (N,).
        numbers: of the draws, as `radrl.policy.decoding.decode` takes them.
        shares: of what is drawn, as it fills them.
        generate: in place of the model's own.
        **settings: as `generate` takes them.

    Returns:
        Prompts and rollouts, padded behind their ends, (N, T + tokens of the longest).
    """
    loop = partial(decode, prompts=dict(inputs), owners=owners, numbers=numbers, shares=shares)
    rows = {name: inputs[name][owners] for name in ("input_ids", "attention_mask")}
    ids: torch.Tensor = (generate or model.generate)(**rows, custom_generate=loop, **settings)
    return ids


@contextmanager
def sharing(
    model: PreTrainedModel, *, numbers: torch.Tensor | None = None, shares: torch.Tensor | None = None
) -> Iterator[None]:
    """A block in which `model.generate` reads equal neighbours among its rows once (`radrl.policy.decoding`).

    Whatever wraps the model and calls its `generate` gets this one.

    Args:
        model: without adapters or wrappers around it.
        numbers: of the draws of the rows that are written, as `radrl.policy.decoding.decode` takes them.
        shares: of what is drawn, as it fills them.
    """
    plain = model.generate
    model.generate = partial(_generate, model, plain, {"numbers": numbers, "shares": shares})
    try:
        yield
    finally:
        del model.generate


def _generate(
    model: Any,
    plain: Any,
    draws: Mapping[str, torch.Tensor | None],
    *,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    **given: Any,
) -> Any:
    family = families.family_of_model(model)
    kinds = given.pop(family.kinds)
    tokens = {"input_ids": input_ids, "attention_mask": attention_mask, family.kinds: kinds}
    own_films = {name: given.pop(name) for name in family.per_film}
    films = family.by_row({family.kinds: kinds, **own_films}, model.config)
    first, owners = equal_neighbours(input_ids, attention_mask, *films.values())
    distinct = {name: own[first] for name, own in tokens.items()}
    distinct |= {name: torch.cat([own[row] for row in first.tolist()]) for name, own in films.items()}
    return write_on(model, distinct, owners, **draws, generate=plain, **given)


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


def bare(model: Any) -> PreTrainedModel:
    """A model without the adapters around it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
