"""The image-only processor against expectations by hand and against transformers' own."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers.models.qwen2_5_vl.processing_qwen2_5_vl import Qwen2_5_VLProcessor
from transformers.processing_utils import ProcessorMixin

from radrl.policy import qwen
from radrl.policy.encoding import chat, decode_film
from radrl.policy.folder import Policy
from radrl.policy.qwen import IMAGE_TOKEN, FilmProcessor


@pytest.fixture
def encode(policy: Policy, films: Callable[..., list[bytes]]) -> Callable[..., Any]:
    """Prompts of different lengths on films of noise, encoded together."""

    def run(prompts: list[str], sizes: list[int]) -> Any:
        pictures = [decode_film(films(1, seed=i, size=size)[0]) for i, size in enumerate(sizes)]
        text = policy.processor.apply_chat_template(
            [chat(prompt) for prompt in prompts], add_generation_prompt=True, tokenize=False
        )
        return policy.processor(text=text, images=pictures, padding=True, return_tensors="pt")

    return run


def test_a_film_takes_one_token_a_merged_patch(policy: Policy, encode: Callable[..., Any]) -> None:
    batch = encode(["Describe.", "Describe."], [56, 56])
    merge = policy.processor.image_processor.merge_size
    assert batch["image_grid_thw"].tolist() == [[1, 4, 4], [1, 4, 4]]
    expected = batch["image_grid_thw"].prod(dim=1) // merge**2
    found = (batch["input_ids"] == policy.processor.image_token_id).sum(dim=1)
    assert found.tolist() == expected.tolist() == [4, 4]
    assert batch["pixel_values"].shape == (2 * 16, 3 * 2 * 14 * 14)  # channels, frames, patch, patch


def test_image_tokens_lie_between_their_marks(policy: Policy, encode: Callable[..., Any]) -> None:
    batch = encode(["Describe."], [56])
    text = policy.processor.tokenizer.decode(batch["input_ids"][0])
    assert text == (
        f"<|im_start|>user\n<|vision_start|>{IMAGE_TOKEN * 4}<|vision_end|>Describe."
        "<|im_end|>\n<|im_start|>assistant\n"
    )


def test_films_of_other_shapes_take_other_counts(policy: Policy) -> None:
    # twice as wide as high at the same area: 56 * sqrt(2) = 79 pixels, cut to whole tokens of 28
    film = Image.fromarray(np.zeros((56, 112), np.uint8)).convert("RGB")
    text = f"<|vision_start|>{IMAGE_TOKEN}<|vision_end|>"
    batch = policy.processor(text=[text], images=[film], return_tensors="pt")
    (grid,) = batch["image_grid_thw"].tolist()
    assert grid[2] > grid[1]
    assert int((batch["input_ids"] == policy.processor.image_token_id).sum()) == grid[1] * grid[2] // 4


def test_shorter_prompts_are_padded_on_the_left(policy: Policy, encode: Callable[..., Any]) -> None:
    batch = encode(["Describe.", "Describe the film in many more words."], [56, 56])
    short, long = batch["attention_mask"].tolist()
    assert all(long)
    padding = short.count(0)
    assert padding > 0
    assert short == [0] * padding + [1] * (len(short) - padding)
    assert set(batch["input_ids"][0, :padding].tolist()) == {policy.processor.tokenizer.pad_token_id}
    alone = encode(["Describe."], [56])
    assert batch["input_ids"][0, padding:].tolist() == alone["input_ids"][0].tolist()


def test_token_types_mark_image_tokens_alone(policy: Policy, encode: Callable[..., Any]) -> None:
    batch = encode(["Describe.", "Describe the film."], [56, 56])
    images = batch["input_ids"] == policy.processor.image_token_id
    assert torch.equal(batch["mm_token_type_ids"], images.to(batch["mm_token_type_ids"].dtype))


def test_grey_values_are_normalised_as_the_image_processor_states(policy: Policy) -> None:
    film = Image.fromarray(np.full((56, 56), 128, np.uint8)).convert("RGB")
    text = f"<|vision_start|>{IMAGE_TOKEN}<|vision_end|>"
    values = policy.processor(text=[text], images=[film], return_tensors="pt")["pixel_values"]
    images = policy.processor.image_processor
    expected = [
        (128 / 255 - mean) / std for mean, std in zip(images.image_mean, images.image_std, strict=True)
    ]
    channels = values.view(16, 3, -1)
    for channel, value in enumerate(expected):
        torch.testing.assert_close(channels[:, channel], torch.full_like(channels[:, channel], value))


def test_tensors_are_those_of_transformers_own_processor(
    policy: Policy, films: Callable[..., list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # its video processor needs torchvision; for films it is never called, only its class is checked
    monkeypatch.setattr(
        ProcessorMixin, "check_argument_for_proper_class", lambda self, name, part: type(part)
    )
    tokenizer = policy.processor.tokenizer
    original = Qwen2_5_VLProcessor(
        policy.processor.image_processor,
        tokenizer,
        SimpleNamespace(model_input_names=[]),
        chat_template=tokenizer.chat_template,
    )
    pictures = [decode_film(film) for film in films(2)]
    asked = [chat("Describe."), chat("Describe the film in many words.")]
    text = original.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
    theirs = original(text=text, images=pictures, padding=True, return_tensors="pt")
    ours = policy.processor(text=text, images=pictures, padding=True, return_tensors="pt")
    assert set(ours) == set(theirs)
    for name in ours:
        assert torch.equal(ours[name], theirs[name]), name


@pytest.mark.parametrize("tensors", ["pt", "np", None])
def test_each_film_is_cut_once_however_often_it_comes(
    policy: Policy, films: Callable[..., list[bytes]], monkeypatch: pytest.MonkeyPatch, tensors: str | None
) -> None:
    """By what it shows: a trainer copies the pictures of its prompts."""
    a, b = (decode_film(film) for film in films(2))
    large = decode_film(films(1, size=84)[0])
    rows = [[a, large], [a.copy(), large.copy()], [b], [large], [b]]
    counts: list[int] = []
    cut = type(policy.processor.image_processor).preprocess

    def counted(self: Any, images: Any, **settings: Any) -> Any:
        counts.append(len(images))
        return cut(self, images, **settings)

    monkeypatch.setattr(type(policy.processor.image_processor), "preprocess", counted)
    asked = {"text": ["<|image_pad|>" * len(row) for row in rows], "images": rows, "padding": True}
    own = policy.processor(**asked, return_tensors=tensors)
    monkeypatch.delattr(FilmProcessor, "_process_images")
    plain = policy.processor(**asked, return_tensors=tensors)
    assert counts[0] == 3
    assert own.keys() == plain.keys()
    for name in plain:
        assert type(own[name]) is type(plain[name])
        assert np.array_equal(own[name], plain[name]), name


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

    (one, of_one), (other, of_other) = see("sdpa"), see(qwen.CHUNKS)
    torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6)
    for name, gradient in of_one.items():
        torch.testing.assert_close(of_other[name], gradient, rtol=1e-4, atol=1e-6, msg=name)


def test_torch_is_asked_once_for_chunks_of_one_length(
    policy: Policy, films: Callable[..., list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, ...]] = []
    torchs = qwen.sdpa_attention_forward

    def noting(module: torch.nn.Module, query: torch.Tensor, *rest: object, **settings: object) -> object:
        asked.append((query.shape[0], query.shape[2]))
        return torchs(module, query, *rest, **settings)

    monkeypatch.setattr(qwen, "sdpa_attention_forward", noting)
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
    qwen.enable(policy.model)
    assert tower.config._attn_implementation == own
