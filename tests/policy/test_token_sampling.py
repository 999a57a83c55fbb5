"""Tokens drawn by the inverse of their distribution are distributed as transformers' own draws."""

from __future__ import annotations

import pytest
import torch
from transformers import TopPLogitsWarper

from radrl.policy.token_sampling import drawn, numbers

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
    found = drawn(logits.expand(steps, -1), own, top_p).bincount(minlength=vocabulary) / steps
    warped = TopPLogitsWarper(top_p)(torch.zeros(1, 1, dtype=torch.long), logits) if top_p < 1 else logits
    expected = warped.softmax(dim=-1)[0]
    assert found[expected == 0].sum() == 0
    torch.testing.assert_close(found, expected, rtol=0, atol=2 / steps)


def test_the_ends_of_the_numbers_find_tokens_that_are_possible() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, 1.0, -torch.inf]]).expand(2, -1)
    almost = 1 - torch.finfo(torch.float64).eps / 2
    assert drawn(logits, torch.tensor([0.0, almost], dtype=torch.float64)).tolist() == [1, 2]


@pytest.mark.parametrize("top_p", [1.0, 0.9])
@pytest.mark.parametrize("logits", [[0.0, torch.nan, 0.0], [0.0, torch.inf, 0.0], [-torch.inf] * 3])
def test_logits_that_are_no_numbers_are_refused(logits: list[float], top_p: float) -> None:
    rows = torch.tensor([[0.0, 1.0, 2.0], logits])
    with pytest.raises(FloatingPointError, match="NaN or infinite"):
        drawn(rows, torch.tensor([0.5, 0.5], dtype=torch.float64), top_p)


def test_equally_likely_tokens_at_the_edge_of_the_nucleus_all_stay() -> None:
    own = torch.arange(4, dtype=torch.float64) / 4
    assert drawn(torch.zeros(4, 4), own, 0.5).tolist() == [0, 1, 2, 3]


def test_numbers_are_a_samples_own() -> None:
    both = numbers(7, [4, 9], 2, 5, CPU)
    assert both.shape == (4, 5)
    assert torch.equal(both[2:], numbers(7, [9], 2, 5, CPU))
    assert torch.equal(both[:1], numbers(7, [4], 1, 5, CPU))
    assert not torch.equal(both[:2], numbers(8, [4], 2, 5, CPU))
    assert len(both.unique()) == both.numel()
    assert both.min() >= 0
    assert both.max() < 1
