"""The loop that writes rollouts token by token from shared prompts.

It is what transformers' `generate` calls in place of its own (`custom_generate`), after it has made
settings into processors of logits and criteria of an end: the model, the wrappers around `generate` and its
results are as ever. Other than transformers' loop it reads each distinct prompt once and holds its keys and
values once (`shared_prompts`), lets rows leave the batch when they have ended, draws by row (`drawn`), and
asks the model for the next token without the bookkeeping of cases that do not come up here. Where a family
cannot hold a prompt once (`Family.apart`), each row reads its own, and all else is as with shared ones.

Where processes hold parts of the weights, one that is done goes on asking until all are.

A draw is a function of a row's logits and of one number of its own, so it does not depend on which other rows
are in the batch, nor on how many draws were made for them. torch.multinomial draws as many numbers as the
vocabulary is long, from a generator that all rows share. Nucleus: the fewest likeliest tokens whose
probabilities sum to at least p (Holtzman et al. 2020, section 3.1). Departure from transformers: tokens
exactly as likely as the last one of the nucleus are in it too, for which of them came first would be a matter
of how the sort goes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Final

import numpy as np
import torch
import torch.distributed
from transformers import DynamicCache, TopPLogitsWarper
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled

from radrl.policy import families
from radrl.policy.family import Family, Inputs
from radrl.policy.shared_prompts import Prompts, attending

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


def sample_tokens(scores: torch.Tensor, numbers: torch.Tensor, top_p: float = 1.0) -> torch.Tensor:
    """A token for each row.

    Args:
        scores: logits, temperature applied, minus infinity where a token is ruled out, shape (B, V).
        numbers: at least 0, below 1, in `precision`, shape (B,).
        top_p: nucleus mass.

    Returns:
        The first token up to which the probabilities, in the vocabulary's order, sum to more than the
        number's share of all, shape (B,).

    Raises:
        FloatingPointError: when a row has a logit that is no number or infinite, or no possible token.
    """
    probabilities = scores.softmax(dim=-1)
    if top_p < 1:
        rare = probabilities < _least(probabilities, top_p)
        probabilities = probabilities.masked_fill(rare, 0.0)
    sums = probabilities.cumsum(dim=-1, dtype=numbers.dtype)
    # below the last sum though it was rounded, so that a token is found, and one that is possible
    found = torch.searchsorted(sums, sums[:, -1:] * numbers[:, None], right=True)[:, 0]
    if bool((found == sums.shape[-1]).any()):  # no sum of NaNs is more than another
        raise FloatingPointError(
            "no token can be drawn: the policy's logits are NaN or infinite; its weights are spoilt, or its "
            "dtype does not hold its numbers (set it to float32)"
        )
    return found


def _least(probabilities: torch.Tensor, top_p: float) -> torch.Tensor:
    """The least probability in each row's nucleus, shape (B, 1)."""
    count = min(LIKELIEST, probabilities.shape[-1])
    likeliest = probabilities.topk(count).values
    sums = likeliest.cumsum(dim=-1)
    if count < probabilities.shape[-1] and bool((sums[:, -1] < top_p).any()):
        likeliest = probabilities.sort(dim=-1, descending=True).values
        sums = likeliest.cumsum(dim=-1)
    last = (sums < top_p).sum(dim=-1, keepdim=True).clamp(max=likeliest.shape[-1] - 1)
    return likeliest.gather(-1, last)


logger = logging.getLogger(__name__)


@torch.no_grad()
def decode(
    model: Any,
    input_ids: torch.Tensor,
    logits_processor: Any,
    stopping_criteria: Any,
    generation_config: Any,
    *,
    prompts: Inputs,
    owners: torch.Tensor,
    numbers: torch.Tensor | None = None,
    **_: Any,
) -> torch.Tensor:
    """Write on, as transformers' `generate` asks a `custom_generate` to.

    Args:
        model: of a known family, without wrappers.
        input_ids: the prompt of each of N rows, (N, T).
        logits_processor: transformers' list of them.
        stopping_criteria: transformers' list of them.
        generation_config: the settings.
        prompts: the processor's tensors of P prompts with their films.
        owners: the prompt of each row, shape (N,).
        numbers: of the draws, at least 0 and below 1, shape (N, tokens); drawn from torch's generator where
            none are given, as many whatever comes out.

    Returns:
        Prompts and what was written, padded behind its end, (N, T + tokens of the longest).
    """
    start, longest = input_ids.shape[1], generation_config.max_length
    family, device = families.family_of_model(model), input_ids.device
    why_apart = family.why_not_shared(model.model.language_model.config, longest)
    choose = _Choice(
        logits_processor, _numbers(generation_config, numbers, len(owners), longest - start, device)
    )
    written = input_ids.new_full((len(owners), longest), generation_config.pad_token_id)
    written[:, :start] = input_ids
    rows, synced = torch.arange(len(owners), device=device), _synced(model)
    if why_apart:
        _say_apart(why_apart)
    reading = (_Apart if why_apart else _Together)(model, family, prompts, owners)
    length, done = start, False
    with reading.block():
        while True:
            if not done:
                tokens = choose(written[rows, :length], reading.logits)
                written[rows, length] = tokens
                length += 1
                ended = stopping_criteria(written[rows, :length], None)
                done = bool(ended.all())
            if _all(done, synced, device):
                return written[:, :length]
            if not done and ended.any():
                stay = (~ended).nonzero()[:, 0]
                rows, tokens = rows[stay], tokens[stay]
                choose.select(stay)
                reading.select(stay)
            reading.step(tokens)


@torch.no_grad()
def prefilled(model: Any, inputs: Inputs, owners: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Prompts]:
    """What decoding goes on from, after each prompt went through the model once.

    Args:
        model: of a known family, without wrappers.
        inputs: P prompts with their films, left-padded to T tokens.
        owners: the prompt of each of N rows to be written, shape (N,).

    Returns:
        Logits of each row's first token, float32, (N, V); its position, (N,); and the prompts for attention.
    """
    read = model(**inputs, use_cache=True, logits_to_keep=1)
    mask = inputs["attention_mask"]
    positions = families.family_of_model(model).next_positions(model, mask)
    # under autocast keys are float32 and would be cast for each token anew
    layers = [(own.keys.to(own.values.dtype), own.values) for own in read.past_key_values.layers]
    padding = None if mask.all() else (mask == 0)[:, None, None]
    return read.logits[owners, -1].float(), positions[owners], Prompts.of(layers, padding, owners)


class _Together:
    """What rows written from prompts that are held once have read, and the logits behind it.

    Args:
        model: without wrappers.
        family: its own.
        prompts: the processor's tensors of P prompts.
        owners: the prompt of each row, shape (N,).
    """

    def __init__(self, model: Any, family: Family, prompts: Inputs, owners: torch.Tensor) -> None:
        self.model, self.family, self.cache = model, family, DynamicCache()
        self.logits, self.positions, self.before = prefilled(model, prompts, owners)

    def block(self) -> AbstractContextManager[None]:
        """In which the model takes prompts for a mask."""
        return attending(self.model.model.language_model.config)

    def select(self, stay: torch.Tensor) -> None:
        """Go on with some of the rows."""
        self.positions, self.before = self.positions[stay], self.before.select(stay)
        self.cache.batch_select_indices(stay)

    def step(self, tokens: torch.Tensor) -> None:
        """Read one token a row, (B,): logits become those behind it, float32, shape (B, V)."""
        read = self.model(
            input_ids=tokens[:, None],
            position_ids=self.family.position_ids(self.positions),
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
            **self.family.attention_arguments(self.model.model.language_model.config, self.before),
        )
        self.logits, self.positions = read.logits[:, -1].float(), self.positions + 1


class _Apart:
    """As `_Together`, of rows that read a prompt each, by transformers' own masks and caches."""

    def __init__(self, model: Any, family: Family, prompts: Inputs, owners: torch.Tensor) -> None:
        films = family.by_row(prompts, model.config)
        rows = {name: own[owners] for name, own in prompts.items() if name not in films}
        rows |= {name: torch.cat([own[i] for i in owners.tolist()]) for name, own in films.items()}
        read = model(**rows, use_cache=True, logits_to_keep=1)
        self.model, self.mask, self.cache = model, rows["attention_mask"], read.past_key_values
        self.logits = read.logits[:, -1].float()

    def block(self) -> AbstractContextManager[None]:
        """Nothing is changed."""
        return nullcontext()

    def select(self, stay: torch.Tensor) -> None:
        """Go on with some of the rows."""
        self.mask = self.mask[stay]
        self.cache.batch_select_indices(stay)

    def step(self, tokens: torch.Tensor) -> None:
        """Read one token a row."""
        self.mask = torch.cat([self.mask, torch.ones_like(self.mask[:, :1])], dim=1)
        read = self.model(
            input_ids=tokens[:, None],
            attention_mask=self.mask,
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self.logits = read.logits[:, -1].float()


@cache
def _say_apart(why: str) -> None:
    """Say once why a group's prompt is read once for each of its rollouts."""
    logger.warning("a film and its prompt are read once for each rollout, not once for each group: %s", why)


def _numbers(
    config: Any, given: torch.Tensor | None, rows: int, tokens: int, device: torch.device
) -> torch.Tensor | None:
    if not config.do_sample or given is not None:
        return given if config.do_sample else None
    return torch.rand((rows, tokens), dtype=precision(device), device=device)


class _Choice:
    """The next token of each row in the batch, greedily where there are no numbers to draw by.

    Args:
        processors: transformers' list of them; a nucleus as its last is found without its sort.
        numbers: shape (B, tokens), or nothing.
    """

    def __init__(self, processors: Any, numbers: torch.Tensor | None) -> None:
        self.processors, self.top_p = list(processors), 1.0
        if self.processors and isinstance(self.processors[-1], TopPLogitsWarper):
            self.top_p = self.processors.pop().top_p
        self.numbers, self.step = numbers, 0

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        for process in self.processors:
            logits = process(ids, logits)
        if self.numbers is None:
            return logits.argmax(dim=-1)
        self.step += 1
        return sample_tokens(logits, self.numbers[:, self.step - 1], self.top_p)

    def select(self, rows: torch.Tensor) -> None:
        if self.numbers is not None:
            self.numbers = self.numbers[rows]


def _synced(model: Any) -> bool:
    """Whether processes hold parts of the weights, and so must ask for equally many forward passes."""
    several = torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1
    if not several:
        return False
    from torch.distributed.fsdp import FSDPModule  # here, for it takes a while and hardly anyone needs it

    return is_deepspeed_zero3_enabled() or isinstance(model, FSDPModule)


def _all(done: bool, synced: bool, device: torch.device) -> bool:
    """Whether this process is done, and all others where they are synced."""
    if not synced:
        return done
    at_work = torch.tensor(0.0 if done else 1.0, device=device)
    torch.distributed.all_reduce(at_work)
    return at_work.item() == 0
