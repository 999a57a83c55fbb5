"""What is generated after a shared prefill is what is generated without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from PIL import Image

from radrl.policy.encoding import decode_film, encode_prompts
from radrl.policy.folder import Policy
from radrl.policy.shared_prefill import by_row, equal_neighbours, sharing, write_on

WAYS = [{"do_sample": False}, {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 0.9}]


@pytest.fixture
def asked(policy: Policy, films: Callable[..., list[bytes]], prompt: str) -> Any:
    """Three prompts of two lengths: a film, two films, a film of another size."""
    a, b, c = (decode_film(film) for film in films(3))
    large: Image.Image = decode_film(films(1, size=84)[0])
    return encode_prompts(policy.processor, [[a], [b, c], [large]], [prompt, prompt, f"{prompt} Be brief."])


def rows(inputs: Any, wanted: list[int], policy: Policy) -> dict[str, torch.Tensor]:
    """Some of the prompts, as often as wanted."""
    pixels, grids = by_row(
        inputs["mm_token_type_ids"], inputs["pixel_values"], inputs["image_grid_thw"], policy.model.config
    )
    tokens = {name: inputs[name][wanted] for name in ("input_ids", "attention_mask", "mm_token_type_ids")}
    return tokens | {
        "pixel_values": torch.cat([pixels[i] for i in wanted]),
        "image_grid_thw": torch.cat([grids[i] for i in wanted]),
    }


@pytest.mark.parametrize("how", WAYS, ids=["greedy", "sampled"])
@pytest.mark.parametrize("wanted", [[0, 0, 0, 1, 1, 2, 2, 2], [0, 1, 0, 1, 2], [2, 2]])
def test_generate_goes_on_as_after_a_prefill_of_every_row(
    policy: Policy, asked: Any, wanted: list[int], how: dict[str, Any]
) -> None:
    inputs = rows(asked, wanted, policy)
    torch.manual_seed(5)
    plain = policy.model.generate(**inputs, max_new_tokens=12, **how)
    torch.manual_seed(5)
    with sharing(policy.model):
        shared = policy.model.generate(**inputs, max_new_tokens=12, **how)
    assert shared.tolist() == plain.tolist()
    assert "generate" not in vars(policy.model)


def test_each_film_is_seen_once_and_each_prompt_read_once(
    policy: Policy, asked: Any, passes: tuple[list[int], list[tuple[int, ...]]]
) -> None:
    seen, read = passes
    inputs = rows(asked, [0, 0, 0, 1, 1, 2], policy)
    with sharing(policy.model):
        policy.model.generate(**inputs, max_new_tokens=3, do_sample=False)
    assert seen == [len(asked["pixel_values"])]
    assert read == [(3, asked["input_ids"].shape[1]), (6, 1), (6, 1), (6, 1)]


def test_a_prompt_may_be_continued_by_any_row(policy: Policy, asked: Any) -> None:
    settings = {"max_new_tokens": 8, "do_sample": False}
    plain = policy.model.generate(**asked, **settings)
    owners = torch.tensor([2, 0, 2, 1])
    shared = write_on(policy.model, asked, owners, **settings)
    assert shared.tolist() == plain[owners].tolist()


def test_neighbours_are_equal_in_every_column() -> None:
    first, owners = equal_neighbours(
        torch.tensor([[7], [7], [7], [8]]), [torch.ones(n) for n in (1, 1, 2, 2)]
    )
    assert first.tolist() == [0, 2, 3]
    assert owners.tolist() == [0, 0, 1, 2]
