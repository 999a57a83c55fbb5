"""What a policy is asked, and which tokens carry loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from radrl.policy.encoding import IGNORED, decode_film, encode_examples, encode_prompts
from radrl.policy.folder import Policy

REPORTS = ["The lungs are clear.", "There is a small left pleural effusion and edema.", ""]
PROMPTS = ["Write the findings.", "Write.", "Write the findings."]


@pytest.fixture
def batch(policy: Policy, films: Callable[..., list[bytes]]) -> Callable[..., dict[str, torch.Tensor]]:
    def encode(max_tokens: int = 64) -> dict[str, torch.Tensor]:
        pictures = [[decode_film(film)] for film in films(3)]
        return encode_examples(policy.processor, pictures, REPORTS, PROMPTS, max_tokens)

    return encode


def test_decoded_film_has_the_grey_values_in_three_channels(films: Callable[..., list[bytes]]) -> None:
    film = decode_film(films(1)[0])
    pixels = np.asarray(film)
    assert (film.mode, pixels.shape) == ("RGB", (56, 56, 3))
    assert np.array_equal(pixels[..., 0], pixels[..., 2])
    assert np.array_equal(pixels[..., 0], np.random.default_rng(0).integers(0, 256, (56, 56), dtype=np.uint8))


def test_report_tokens_and_the_end_alone_carry_loss(
    policy: Policy, batch: Callable[..., dict[str, torch.Tensor]]
) -> None:
    tokenizer, encoded = policy.processor.tokenizer, batch()
    for row, report in enumerate(REPORTS):
        labels = encoded["labels"][row]
        counted = labels[labels != IGNORED].tolist()
        assert counted == [*tokenizer(report)["input_ids"], tokenizer.eos_token_id]
        assert counted == encoded["input_ids"][row][labels != IGNORED].tolist()
        assert bool(encoded["attention_mask"][row][labels != IGNORED].all())


def test_prompt_comes_first_and_unchanged(
    policy: Policy, batch: Callable[..., dict[str, torch.Tensor]], films: Callable[..., list[bytes]]
) -> None:
    prompts = encode_prompts(policy.processor, [[decode_film(film)] for film in films(3)], PROMPTS)
    width = prompts["input_ids"].shape[1]
    encoded = batch()
    for name in ("input_ids", "attention_mask", "mm_token_type_ids"):
        assert torch.equal(encoded[name][:, :width], prompts[name]), name
    assert bool((encoded["labels"][:, :width] == IGNORED).all())
    assert torch.equal(encoded["pixel_values"], prompts["pixel_values"])
    assert int(encoded["mm_token_type_ids"][:, width:].sum()) == 0


def test_a_study_is_several_pictures_of_one_prompt_in_order(
    policy: Policy, films: Callable[..., list[bytes]]
) -> None:
    pictures = [decode_film(film) for film in films(3)]
    batch = encode_prompts(policy.processor, [pictures[:2], pictures[2:]], PROMPTS[:2])
    alone = encode_prompts(policy.processor, [[each] for each in pictures], PROMPTS)
    assert torch.equal(batch["pixel_values"], alone["pixel_values"])
    image = policy.processor.image_token_id
    tokens = int((alone["input_ids"][0] == image).sum())
    assert (batch["input_ids"] == image).sum(dim=1).tolist() == [2 * tokens, tokens]
    text = policy.processor.tokenizer.decode(batch["input_ids"][0])
    assert text.count("<|vision_start|>") == 2
    assert text.index("<|vision_end|>") < text.index(PROMPTS[0])


@pytest.mark.parametrize("max_tokens", [1, 2, 5])
def test_long_reports_are_cut_and_still_end_and_the_prompt_never_is(
    policy: Policy, batch: Callable[..., dict[str, torch.Tensor]], max_tokens: int
) -> None:
    tokenizer, cut, whole = policy.processor.tokenizer, batch(max_tokens), batch()
    counted = (cut["labels"] != IGNORED).sum(dim=1)
    assert int(counted.max()) == max_tokens
    assert cut["input_ids"][0][cut["labels"][0] != IGNORED][-1] == tokenizer.eos_token_id
    prompt = whole["labels"].shape[1] - int((whole["labels"] != IGNORED).sum(dim=1).max())
    assert torch.equal(cut["input_ids"][:, :prompt], whole["input_ids"][:, :prompt])
    assert int((cut["input_ids"] == policy.processor.image_token_id).sum()) == 3 * 4


def test_shorter_reports_are_padded_on_the_right_without_loss(
    policy: Policy, batch: Callable[..., dict[str, torch.Tensor]]
) -> None:
    encoded = batch()
    mask, ids = encoded["attention_mask"][0], encoded["input_ids"][0]
    last = int(mask.nonzero().max())
    assert ids[last] == policy.processor.tokenizer.eos_token_id
    assert set(ids[last + 1 :].tolist()) == {policy.processor.tokenizer.pad_token_id}
    assert bool((encoded["labels"][0, last + 1 :] == IGNORED).all())


def test_padding_does_not_change_the_loss_of_a_row(
    policy: Policy, batch: Callable[..., dict[str, torch.Tensor]], films: Callable[..., list[bytes]]
) -> None:
    together = batch()
    alone = encode_examples(policy.processor, [[decode_film(films(3)[1])]], REPORTS[1:2], PROMPTS[1:2], 64)
    with torch.no_grad():
        logits = policy.model(**together).logits[1]
        expected = policy.model(**alone).logits[0]
    torch.testing.assert_close(
        logits[together["labels"][1] != IGNORED],
        expected[alone["labels"][0] != IGNORED],
        rtol=1e-4,
        atol=1e-5,
    )
