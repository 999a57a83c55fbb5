"""Rows leave a batch when they have ended, and nothing that is written depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import TopPLogitsWarper

from radrl.policy import decoding
from radrl.policy.encoding import decode_film, encode_prompts
from radrl.policy.folder import Policy
from radrl.policy.shared_prefill import write_on
from radrl.policy.token_draws import check_drawn, numbers, sample_tokens

OWNERS = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
TOKENS = 16
SAMPLED = {"do_sample": True, "temperature": 1.0, "top_k": 0, "max_new_tokens": TOKENS}
Passes = tuple[list[int], list[tuple[int, ...]]]


@pytest.fixture
def ending(policy: Policy) -> Policy:
    """A policy that ends a report after some five tokens."""
    head = policy.model.lm_head
    head.bias = torch.nn.Parameter(torch.zeros(head.out_features))
    with torch.no_grad():
        head.bias[policy.processor.tokenizer.eos_token_id] = 4.4
    return policy


@pytest.fixture
def asked(ending: Policy, films: Callable[..., list[bytes]], prompt: str) -> Any:
    """Three prompts of two lengths."""
    own = [[decode_film(film)] for film in films(3)]
    return encode_prompts(ending.processor, own, [prompt, prompt, f"{prompt} Be brief."])


@pytest.fixture
def drawing() -> torch.Tensor:
    return numbers(0, range(len(OWNERS)), 1, TOKENS, torch.device("cpu"))


def test_rows_that_have_ended_are_asked_no_more(
    ending: Policy, asked: Any, drawing: torch.Tensor, passes: Passes
) -> None:
    written = write_on(ending.model, asked, OWNERS, numbers=drawing, **SAMPLED)
    report = written[:, asked["input_ids"].shape[1] :]
    long = (report != ending.processor.tokenizer.pad_token_id).sum(dim=1)
    assert len(long.unique()) > 3
    # the first token is the prompt's; each further one asks with the one before
    assert passes[1][1:] == [(int((long > step).sum()), 1) for step in range(1, int(long.max()))]


def test_what_a_row_draws_does_not_depend_on_the_others(
    ending: Policy, asked: Any, drawing: torch.Tensor
) -> None:
    together = write_on(ending.model, asked, OWNERS, numbers=drawing, **SAMPLED)
    pad = ending.processor.tokenizer.pad_token_id
    for row, owner in enumerate(OWNERS.tolist()):
        own = drawing[row : row + 1]
        (alone,) = write_on(ending.model, asked, torch.tensor([owner]), numbers=own, **SAMPLED).tolist()
        assert alone + [pad] * (together.shape[1] - len(alone)) == together[row].tolist()


def test_any_of_several_ends_ends_a_row_as_in_transformers(ending: Policy, asked: Any) -> None:
    torch.nn.init.zeros_(ending.model.lm_head.bias)
    greedy = {"do_sample": False, "max_new_tokens": TOKENS}
    free = ending.model.generate(**asked, **greedy)[:, -TOKENS:]
    ends = [int(free[0, 3]), int(free[1, 6])]
    plain = ending.model.generate(**asked, eos_token_id=ends, **greedy)
    ours = write_on(ending.model, asked, torch.arange(3), eos_token_id=ends, **greedy)
    assert ours.tolist() == plain.tolist()


def test_a_process_that_is_done_goes_on_until_all_are(
    ending: Policy, asked: Any, drawing: torch.Tensor, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = write_on(ending.model, asked, OWNERS, numbers=drawing, **SAMPLED)
    own = len(passes[1])
    turns: list[float] = []

    def another_at_work(flag: torch.Tensor) -> None:
        turns.append(flag.item())
        flag += float(len(turns) < own + 4)

    monkeypatch.setattr(decoding, "_synced", lambda model: True)
    monkeypatch.setattr(torch.distributed, "all_reduce", another_at_work)
    assert write_on(ending.model, asked, OWNERS, numbers=drawing, **SAMPLED).tolist() == alone.tolist()
    assert len(passes[1]) == own + own + 4
    assert turns == [1.0] * (own - 1) + [0.0] * 5


def test_processors_of_logits_have_their_say(ending: Policy, asked: Any) -> None:
    how = {"do_sample": False, "max_new_tokens": TOKENS, "repetition_penalty": 1.5}
    plain = ending.model.generate(**asked, **how)
    assert write_on(ending.model, asked, torch.arange(3), **how).tolist() == plain.tolist()


def test_a_window_that_is_left_is_refused(ending: Policy, asked: Any) -> None:
    ending.model.model.language_model.config.sliding_window = 30
    with pytest.raises(ValueError, match="use_sliding_window to false"):
        write_on(ending.model, asked, torch.arange(3), do_sample=False, max_new_tokens=TOKENS)


CPU = torch.device("cpu")


def scores(vocabulary: int, spread: float) -> torch.Tensor:
    return spread * torch.randn(1, vocabulary, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.3])
@pytest.mark.parametrize(("vocabulary", "spread"), [(40, 2.0), (300, 3.0), (300, 0.5)])
def test_each_token_has_its_share_of_the_numbers(vocabulary: int, spread: float, top_p: float) -> None:
    """Numbers at equal steps instead of drawn ones: shares are then exact to a step."""
    steps = 50_000
    logits = scores(vocabulary, spread)
    own = torch.arange(steps, dtype=torch.float64) / steps
    tokens, shares = sample_tokens(logits.expand(steps, -1), own, top_p)
    found = tokens.bincount(minlength=vocabulary) / steps
    warped = TopPLogitsWarper(top_p)(torch.zeros(1, 1, dtype=torch.long), logits) if top_p < 1 else logits
    expected = warped.softmax(dim=-1)[0]
    assert found[expected == 0].sum() == 0
    torch.testing.assert_close(found, expected, rtol=0, atol=2 / steps)
    torch.testing.assert_close(shares.float(), expected[tokens], rtol=1e-5, atol=0)


def test_the_ends_of_the_numbers_find_tokens_that_are_possible() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, 1.0, -torch.inf]]).expand(2, -1)
    almost = 1 - torch.finfo(torch.float64).eps / 2
    assert sample_tokens(logits, torch.tensor([0.0, almost], dtype=torch.float64))[0].tolist() == [1, 2]


@pytest.mark.parametrize("top_p", [1.0, 0.9])
@pytest.mark.parametrize("logits", [[0.0, torch.nan, 0.0], [0.0, torch.inf, 0.0], [-torch.inf] * 3])
def test_logits_that_are_no_numbers_are_refused(logits: list[float], top_p: float) -> None:
    rows = torch.tensor([[0.0, 1.0, 2.0], logits])
    with pytest.raises(FloatingPointError, match="NaN or infinite"):
        check_drawn(sample_tokens(rows, torch.tensor([0.5, 0.5], dtype=torch.float64), top_p)[1])


def test_equally_likely_tokens_at_the_edge_of_the_nucleus_all_stay() -> None:
    own = torch.arange(4, dtype=torch.float64) / 4
    assert sample_tokens(torch.zeros(4, 4), own, 0.5)[0].tolist() == [0, 1, 2, 3]


def test_numbers_are_a_samples_own() -> None:
    both = numbers(7, [4, 9], 2, 5, CPU)
    assert both.shape == (4, 5)
    assert torch.equal(both[2:], numbers(7, [9], 2, 5, CPU))
    assert torch.equal(both[:1], numbers(7, [4], 1, 5, CPU))
    assert not torch.equal(both[:2], numbers(8, [4], 2, 5, CPU))
    assert len(both.unique()) == both.numel()
    assert both.min() >= 0
    assert both.max() < 1
