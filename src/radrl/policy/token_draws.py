"""A token for each row, as a function of its logits and of one number of its own.

So a draw does not depend on which other rows are in the batch, nor on how many draws were made for them.
torch.multinomial draws as many numbers as the vocabulary is long, from a generator that all rows share.
Nucleus: the fewest likeliest tokens whose probabilities sum to at least p (Holtzman et al. 2020, section
3.1). Departure from transformers: tokens exactly as likely as the last one of the nucleus are in it too, for
which of them came first would be a matter of how the sort goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import torch

LIKELIEST: Final = 64
"""Tokens that are sorted to find where a nucleus ends; all are where these do not hold it."""


def precision(device: torch.device) -> torch.dtype:
    """Of sums over a vocabulary: float32 would lose the rare ones of 150,000; Apple's GPUs have no other."""
    return torch.float32 if device.type == "mps" else torch.float64


def numbers(
    seed: int, places: Iterable[int], samples: int, tokens: int, device: torch.device
) -> torch.Tensor:
    """What samples' tokens are drawn by.

    Args:
        seed: of all draws.
        places: of each of B samples among all that are written; its numbers follow from the seed and this.
        samples: rollouts of a sample.
        tokens: that a rollout may have.
        device: where they are used.

    Returns:
        At least 0 and below 1, shape (B * samples, tokens).
    """
    kind = np.float32 if precision(device) is torch.float32 else np.float64
    own = [np.random.default_rng([seed, place]).random((samples, tokens), dtype=kind) for place in places]
    return torch.from_numpy(np.concatenate(own)).to(device)


def sample_tokens(
    scores: torch.Tensor, numbers: torch.Tensor, top_p: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """A token for each row.

    Args:
        scores: logits, temperature applied, minus infinity where a token is ruled out, shape (B, V).
        numbers: at least 0, below 1, in `precision`, shape (B,).
        top_p: nucleus mass.

    Returns:
        The first token up to which the probabilities, in the vocabulary's order, sum to more than the
        number's share of all, shape (B,), and its share of all, in `precision`, shape (B,): not above 0
        where no token is possible, which `check_drawn` refuses.
    """
    probabilities = scores.softmax(dim=-1)
    if top_p < 1:
        rare = probabilities < _least(probabilities, top_p)
        probabilities = probabilities.masked_fill(rare, 0.0)
    sums = probabilities.cumsum(dim=-1, dtype=numbers.dtype)
    # below the last sum though it was rounded, so that a token is found, and one that is possible
    found = torch.searchsorted(sums, sums[:, -1:] * numbers[:, None], right=True)
    found = found.clamp(max=sums.shape[-1] - 1)  # no sum of NaNs is more than another
    return found[:, 0], (probabilities.gather(-1, found) / sums[:, -1:])[:, 0]


def check_drawn(shares: torch.Tensor) -> None:
    """Refuse rows for which no token can be drawn.

    Args:
        shares: of the tokens that were drawn, any shape. To ask makes the host wait for an accelerator.

    Raises:
        FloatingPointError: when a row has a logit that is no number or infinite, or no possible token.
    """
    if not bool((shares > 0).all()):
        raise FloatingPointError(
            "no token can be drawn: the policy's logits are NaN or infinite; its weights are spoilt, or its "
            "dtype does not hold its numbers (set it to float32)"
        )


def _least(probabilities: torch.Tensor, top_p: float) -> torch.Tensor:
    """The least probability in each row's nucleus, shape (B, 1)."""
    # on an accelerator to sort all takes less than to ask whether it must be
    count = min(LIKELIEST, probabilities.shape[-1]) if probabilities.is_cpu else probabilities.shape[-1]
    likeliest = probabilities.topk(count).values
    sums = likeliest.cumsum(dim=-1)
    if count < probabilities.shape[-1] and bool((sums[:, -1] < top_p).any()):
        likeliest = probabilities.sort(dim=-1, descending=True).values
        sums = likeliest.cumsum(dim=-1)
    last = (sums < top_p).sum(dim=-1, keepdim=True).clamp(max=likeliest.shape[-1] - 1)
    return likeliest.gather(-1, last)
