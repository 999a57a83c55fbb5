"""Attention while decoding is as exact as torch's own, by which a policy is trained."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from radrl.policy.shared_prompts import Prompts, attend

LAYER = SimpleNamespace(layer_idx=0, is_causal=True, num_key_value_groups=8, training=False)
ROLLOUTS, HEADS, WIDTH = 8, 16, 128


def states(large: float) -> list[torch.Tensor]:
    """Queries, a prompt's keys and values, and the rollouts' own, in float64."""
    drawn = torch.Generator().manual_seed(0)
    shapes = [(ROLLOUTS, HEADS, 1), (1, 2, 200), (1, 2, 200), (ROLLOUTS, 2, 20), (ROLLOUTS, 2, 20)]
    query, *others = (torch.randn(*shape, WIDTH, generator=drawn, dtype=torch.float64) for shape in shapes)
    return [own.bfloat16().double() for own in (query * large, *others)]


def shared(query: torch.Tensor, *known: torch.Tensor) -> torch.Tensor:
    keys, values, own_keys, own_values = known
    prompts = Prompts.in_slots([(keys, values)], None, torch.zeros(ROLLOUTS, dtype=torch.long))
    return attend(LAYER, query, own_keys, own_values, prompts, scaling=WIDTH**-0.5)[0]  # type: ignore[arg-type]


def separate(query: torch.Tensor, *known: torch.Tensor) -> torch.Tensor:
    keys, values, own_keys, own_values = known
    every = [
        torch.cat([before.expand(ROLLOUTS, -1, -1, -1), own], dim=2)
        for before, own in ((keys, own_keys), (values, own_values))
    ]
    return sdpa_attention_forward(LAYER, query, *every, None, scaling=WIDTH**-0.5)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("large", [1.0, 16.0])
def test_scores_of_bfloat16_are_not_rounded_to_it(large: float, autocast: bool) -> None:
    exact = separate(*states(large))
    rounded = [own.bfloat16() for own in states(large)]
    torchs = (separate(*rounded).double() - exact).norm()
    if (
        autocast
    ):  # queries and keys are float32 behind their rotation, those of prompts as `prefilled` keeps them
        rounded[0], rounded[3] = rounded[0].float(), rounded[3].float()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        ours = (shared(*rounded).double() - exact).norm()
    assert ours < 2 * torchs
