"""The laptop policy: small, whole, and a function of its seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from radrl.policy import tiny

REPORTS = ["There is a small left pleural effusion.", "The lungs are clear.", "Œdème à gauche, 3 × 4 cm"]


def test_tokenizer_spells_any_text_and_gives_it_back() -> None:
    tokenizer = tiny.train_tokenizer(REPORTS[:2], 300)
    for text in [*REPORTS, "unseen words\nand signs: <>{}", ""]:
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_tokenizer_has_qwens_marks_as_single_tokens() -> None:
    tokenizer = tiny.train_tokenizer(REPORTS, 300)
    assert [len(tokenizer(mark)["input_ids"]) for mark in tiny.SPECIAL_TOKENS] == [1] * len(
        tiny.SPECIAL_TOKENS
    )
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|endoftext|>")
    assert len(tokenizer) == 300


def test_same_texts_same_tokenizer() -> None:
    one, two = (tiny.train_tokenizer(REPORTS, 320) for _ in range(2))
    assert one.backend_tokenizer.to_str() == two.backend_tokenizer.to_str()


def test_same_seed_same_weights_and_another_seed_others(
    one_thread: None, shape: dict[str, int], weights: Callable[[Any], Any], same: Callable[..., bool]
) -> None:
    tokenizer = tiny.train_tokenizer(REPORTS, 320)
    built = [weights(tiny.build(tokenizer, image_size=56, shape=shape, seed=seed)) for seed in (0, 0, 1)]
    assert same(built[0], built[1])
    assert not same(built[0], built[2])


def test_films_that_do_not_divide_into_tokens_are_refused(one_thread: None, shape: dict[str, int]) -> None:
    with pytest.raises(
        ValueError, match=r"films of 60 pixels do not divide into tokens of 28; set ingest\.image_size"
    ):
        tiny.build(tiny.train_tokenizer(REPORTS, 320), image_size=60, shape=shape, seed=0)


def test_laptop_policy_has_about_a_million_weights(one_thread: None, root: Any) -> None:
    values = yaml.safe_load((root / "params.yaml").read_text())
    shape = values["policy"]["tiny"]
    tokenizer = tiny.train_tokenizer(REPORTS, shape["vocab_size"])
    built = tiny.build(tokenizer, image_size=values["ingest"]["image_size"], shape=shape, seed=0)
    assert 0.5e6 < built.model.num_parameters() < 2e6
