"""What is written from shared prompts is what is written without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from PIL import Image
from scipy.stats import chi2_contingency

from radrl.policy.encoding import decode_film, encode_prompts
from radrl.policy.folder import Policy
from radrl.policy.shared_prefill import by_row, equal_neighbours, sharing, write_on

GREEDY = {"do_sample": False}
SAMPLED = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 0.9}
WANTED = [[0, 0, 0, 1, 1, 2, 2, 2], [0, 1, 0, 1, 2], [2, 2]]


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


@pytest.mark.parametrize("wanted", WANTED)
def test_the_likeliest_tokens_are_those_of_transformers_generate(
    policy: Policy, asked: Any, wanted: list[int]
) -> None:
    inputs = rows(asked, wanted, policy)
    plain = policy.model.generate(**inputs, max_new_tokens=12, **GREEDY)
    with sharing(policy.model):
        shared = policy.model.generate(**inputs, max_new_tokens=12, **GREEDY)
    assert shared.tolist() == plain.tolist()
    assert "generate" not in vars(policy.model)


@pytest.mark.parametrize("wanted", WANTED)
def test_equal_seeds_give_equal_samples_shared_or_not(policy: Policy, asked: Any, wanted: list[int]) -> None:
    inputs = rows(asked, wanted, policy)
    torch.manual_seed(5)
    plain = write_on(policy.model, inputs, torch.arange(len(wanted)), max_new_tokens=12, **SAMPLED)
    torch.manual_seed(5)
    with sharing(policy.model):
        shared = policy.model.generate(**inputs, max_new_tokens=12, **SAMPLED)
    assert shared.tolist() == plain.tolist()
    assert len(set(map(tuple, shared.tolist()))) == len(wanted)  # each row has draws of its own


def test_samples_are_distributed_as_transformers(policy: Policy, asked: Any) -> None:
    """First and second tokens of 4,000 rollouts of a prompt each way, by a chi-square test of two samples."""
    with torch.no_grad():  # an untrained policy finds all tokens alike; this one has favourites
        policy.model.lm_head.weight.mul_(12)
    inputs = rows(asked, [0], policy)
    torch.manual_seed(5)
    owners = torch.zeros(4000, dtype=torch.long)
    shared = write_on(policy.model, inputs, owners, max_new_tokens=2, **SAMPLED)[:, -2:]
    plain = policy.model.generate(**inputs, max_new_tokens=2, num_return_sequences=4000, **SAMPLED)[:, -2:]
    for step in (0, 1):
        seen = torch.stack([own[:, step].bincount(minlength=10_000) for own in (shared, plain)])
        seen = seen[:, seen.sum(dim=0) >= 10].double()
        assert seen.shape[1] > 5
        assert chi2_contingency(seen.numpy()).pvalue > 0.001


def test_each_film_is_seen_once_and_each_prompt_read_once(
    policy: Policy, asked: Any, passes: tuple[list[int], list[tuple[int, ...]]]
) -> None:
    seen, read = passes
    inputs = rows(asked, [0, 0, 0, 1, 1, 2], policy)
    with sharing(policy.model):
        policy.model.generate(**inputs, max_new_tokens=3, do_sample=False)
    assert seen == [len(asked["pixel_values"])]
    assert read == [(3, asked["input_ids"].shape[1]), (6, 1), (6, 1)]  # the first token needs no step


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
