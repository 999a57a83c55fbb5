"""Reports of a policy: reproducible, and a function of what is asked alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from PIL import Image

from radrl.policy.encoding import decode_film, encode_prompts
from radrl.policy.folder import Policy
from radrl.policy.writers import hf


def texts(*asked: Any, **settings: Any) -> list[list[str]]:
    return [[one.text for one in own] for own in hf.write(*asked, **settings)]


@pytest.fixture
def pictures(films: Callable[..., list[bytes]]) -> list[list[Image.Image]]:
    return [[decode_film(film)] for film in films(3)]


@pytest.fixture
def write(policy: Policy, pictures: list[list[Image.Image]], prompt: str) -> Callable[..., list[list[str]]]:
    def run(**settings: Any) -> list[list[str]]:
        return texts(policy, pictures, prompt, **{"max_new_tokens": 6, **settings})

    return run


def test_greedy_takes_the_likeliest_token_each_time(
    policy: Policy, pictures: list[list[Image.Image]], prompt: str, write: Callable[..., list[list[str]]]
) -> None:
    inputs = dict(encode_prompts(policy.processor, pictures[:1], [prompt]))
    chosen: list[int] = []
    with torch.no_grad():
        for _ in range(6):
            token = int(policy.model(**inputs).logits[0, -1].argmax())
            chosen.append(token)
            for name, value in (("input_ids", token), ("attention_mask", 1), ("mm_token_type_ids", 0)):
                inputs[name] = torch.cat([inputs[name], torch.tensor([[value]])], dim=1)
    expected = policy.processor.tokenizer.decode(chosen, skip_special_tokens=True).strip()
    assert write()[0] == [expected]


def test_greedy_knows_no_seed(write: Callable[..., list[list[str]]]) -> None:
    assert write(seed=0) == write(seed=1)


def test_same_seed_same_samples_and_another_seed_others(write: Callable[..., list[list[str]]]) -> None:
    def drawn(seed: int) -> list[list[str]]:
        return write(temperature=1.0, top_p=0.9, samples=3, seed=seed)

    first = drawn(5)
    torch.rand(7)  # what was drawn before must not matter
    assert drawn(5) == first
    assert drawn(6) != first


def test_every_film_gets_its_samples_in_order(write: Callable[..., list[list[str]]]) -> None:
    drawn = write(temperature=1.0, samples=4)
    assert [len(reports) for reports in drawn] == [4, 4, 4]
    assert (
        len({report for reports in drawn for report in reports}) == 12
    )  # an untrained policy never repeats itself


def test_a_small_nucleus_is_greedy(write: Callable[..., list[list[str]]]) -> None:
    assert write(temperature=1.0, top_p=1e-6, seed=3) == write()


def test_greedy_reports_do_not_depend_on_the_company(
    policy: Policy, pictures: list[list[Image.Image]], prompt: str, write: Callable[..., list[list[str]]]
) -> None:
    alone = [texts(policy, [film], prompt, max_new_tokens=6)[0] for film in pictures]
    assert alone == write()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_generation_settings_that_came_with_a_policy_have_no_say(
    policy: Policy, write: Callable[..., list[list[str]]], temperature: float
) -> None:
    before = write(temperature=temperature, max_new_tokens=20)
    # as in Qwen2.5-VL's own generation_config.json, only stronger
    for name, value in (
        ("repetition_penalty", 9.0),
        ("do_sample", True),
        ("temperature", 1e-6),
        ("top_k", 1),
    ):
        setattr(policy.model.generation_config, name, value)
    assert write(temperature=temperature, max_new_tokens=20) == before


def test_reports_end_at_the_end_of_turn(
    policy: Policy, pictures: list[list[Image.Image]], prompt: str
) -> None:
    end = policy.processor.tokenizer.eos_token_id
    with torch.no_grad():  # an end of turn is always the likeliest
        policy.model.lm_head.weight.zero_()
        policy.model.lm_head.bias = torch.nn.Parameter(torch.zeros(policy.model.lm_head.out_features))
        policy.model.lm_head.bias[end] = 1.0
    assert texts(policy, pictures, prompt, max_new_tokens=6) == [[""], [""], [""]]


def test_a_study_is_answered_as_it_is_alone_and_looks_at_all_its_films(
    policy: Policy, pictures: list[list[Image.Image]], prompt: str
) -> None:
    (first,), (second,), _ = pictures
    both = texts(policy, [[first, second], [first]], prompt, max_new_tokens=6)
    assert both[0] == texts(policy, [[first, second]], prompt, max_new_tokens=6)[0]
    assert both[1] == texts(policy, [[first]], prompt, max_new_tokens=6)[0]
    logits = [
        policy.model(**encode_prompts(policy.processor, [own], [prompt])).logits[0, -1]
        for own in ([first, second], [first, first], [second, first])
    ]
    assert not torch.allclose(logits[0], logits[1])
    assert not torch.allclose(logits[0], logits[2])


def test_length_is_counted_to_the_first_end_and_what_has_none_was_cut_off(policy: Policy) -> None:
    tokenizer = policy.processor.tokenizer
    end, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
    rows = torch.tensor([[7, 8, end, pad], [end, pad, pad, pad], [7, 8, 9, 7], [7, 8, 9, end]])
    assert hf._ends(rows, policy) == ([2, 0, 4, 3], [True, True, False, True])


def test_any_end_of_several_counts(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy.model.generation_config, "eos_token_id", [8, 9])
    assert hf._ends(torch.tensor([[7, 9, 7], [7, 8, 9]]), policy) == ([1, 1], [True, True])


def test_what_is_written_is_told_with_its_length(
    policy: Policy, pictures: list[list[Image.Image]], prompt: str
) -> None:
    written = hf.write(policy, pictures, prompt, max_new_tokens=6)
    assert all(one.tokens <= 6 and one.ended == (one.tokens < 6) for (one,) in written)
