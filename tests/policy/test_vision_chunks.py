"""The tower sees the same, whether chunks attend in turn or those of equal length together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from radrl.policy import vision_chunks
from radrl.policy.encoding import decode_film
from radrl.policy.folder import Policy

Seen = tuple[torch.Tensor, dict[str, torch.Tensor]]


@pytest.mark.parametrize("window", [28, 56, 1000], ids=["windows", "windows of a film", "whole films"])
@pytest.mark.parametrize("sizes", [[56], [56, 56, 56], [56, 84, 56, 140]])
def test_tokens_and_gradients_are_those_of_chunk_by_chunk(
    policy: Policy, films: Callable[..., list[bytes]], sizes: list[int], window: int
) -> None:
    tower = policy.model.model.visual
    tower.window_size = window
    encoder = policy.processor.image_processor
    encoder.size = {"shortest_edge": 28**2, "longest_edge": 140**2}
    pictures = [decode_film(films(1, size=size)[0]) for size in sizes]
    encoded = encoder(images=pictures, return_tensors="pt")

    def see(attention: str) -> Seen:
        tower.config._attn_implementation = attention
        tower.zero_grad()
        tokens = tower(encoded["pixel_values"], grid_thw=encoded["image_grid_thw"]).pooler_output
        tokens.square().mean().backward()
        return tokens.detach(), {name: own.grad.clone() for name, own in tower.named_parameters()}

    (one, of_one), (other, of_other) = see("sdpa"), see(vision_chunks.NAME)
    torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6)
    for name, gradient in of_one.items():
        torch.testing.assert_close(of_other[name], gradient, rtol=1e-4, atol=1e-6, msg=name)


def test_torch_is_asked_once_for_chunks_of_one_length(
    policy: Policy, films: Callable[..., list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, ...]] = []
    torchs = vision_chunks.sdpa_attention_forward

    def noting(module: torch.nn.Module, query: torch.Tensor, *rest: object, **settings: object) -> object:
        asked.append((query.shape[0], query.shape[2]))
        return torchs(module, query, *rest, **settings)

    monkeypatch.setattr(vision_chunks, "sdpa_attention_forward", noting)
    tower = policy.model.model.visual
    encoded = policy.processor.image_processor(
        images=[decode_film(film) for film in films(3)], return_tensors="pt"
    )
    tower(encoded["pixel_values"], grid_thw=encoded["image_grid_thw"])
    assert asked == [(3, 16)] * len(tower.blocks)


@pytest.mark.parametrize("own", ["eager", "flash_attention_2"])
def test_attention_that_is_not_torchs_is_left_as_it_is(policy: Policy, own: str) -> None:
    tower = policy.model.model.visual
    tower.config._attn_implementation = own
    vision_chunks.enable(policy.model)
    assert tower.config._attn_implementation == own
