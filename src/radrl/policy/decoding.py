"""The loop that writes rollouts token by token from shared prompts.

It is what transformers' `generate` calls in place of its own (`custom_generate`), after it has made
settings into processors of logits and criteria of an end: the model, the wrappers around `generate` and its
results are as ever. Other than transformers' loop it reads each distinct prompt once and holds its keys and
values once (`shared_prompts`), lets rows leave the batch when they have ended, draws by row (`drawing`), and
asks the model for the next token without the bookkeeping of cases that do not come up here.

Where processes hold parts of the weights, one that is done goes on asking until all are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed
from transformers import DynamicCache, TopPLogitsWarper
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled
from transformers.integrations.fsdp import is_fsdp_managed_module

from radrl.policy.drawing import drawn, precision
from radrl.policy.shared_prompts import Prompts, attending

Inputs = Mapping[str, torch.Tensor]
"""The tensors of `radrl.policy.processor.FilmProcessor` for P prompts."""


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
        model: a Qwen2.5-VL without wrappers.
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
    text, device = model.model.language_model.config, input_ids.device
    _check_windows(text, longest)
    choose = _Choice(
        logits_processor, _numbers(generation_config, numbers, len(owners), longest - start, device)
    )
    written = input_ids.new_full((len(owners), longest), generation_config.pad_token_id)
    written[:, :start] = input_ids
    rows, synced = torch.arange(len(owners), device=device), _synced(model)
    logits, positions, before = prefilled(model, prompts, owners)
    cache, length, done = DynamicCache(), start, False
    with attending(text):
        while True:
            if not done:
                tokens = choose(written[rows, :length], logits)
                written[rows, length] = tokens
                length += 1
                ended = stopping_criteria(written[rows, :length], None)
                done = bool(ended.all())
            if _all(done, synced, device):
                return written[:, :length]
            if not done and ended.any():
                stay = (~ended).nonzero()[:, 0]
                rows, tokens, positions = (own[stay] for own in (rows, tokens, positions))
                choose.select(stay)
                cache.batch_select_indices(stay)
                before = before.select(stay)
            logits, positions = _step(model, tokens, positions, cache, before), positions + 1


@torch.no_grad()
def prefilled(model: Any, inputs: Inputs, owners: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Prompts]:
    """What decoding goes on from, after each prompt went through the model once.

    Args:
        model: a Qwen2.5-VL without wrappers.
        inputs: P prompts with their films, left-padded to T tokens.
        owners: the prompt of each of N rows to be written, shape (N,).

    Returns:
        Logits of each row's first token, float32, (N, V); its position, (N,); and the prompts for attention.
    """
    read = model(**inputs, use_cache=True, logits_to_keep=1)
    mask = inputs["attention_mask"]
    # positions after the films are less than indices
    positions = mask.sum(dim=1) + model.model.rope_deltas.to(mask.device)[:, 0]
    # under autocast keys are float32 and would be cast for each token anew
    layers = [(own.keys.to(own.values.dtype), own.values) for own in read.past_key_values.layers]
    padding = None if mask.all() else (mask == 0)[:, None, None]
    return read.logits[owners, -1].float(), positions[owners], Prompts.of(layers, padding, owners)


def _step(
    model: Any, tokens: torch.Tensor, positions: torch.Tensor, cache: DynamicCache, before: Prompts
) -> torch.Tensor:
    """Logits behind the token of each of B rows at its position, both (B,); float32, shape (B, V)."""
    read = model(
        input_ids=tokens[:, None],
        position_ids=positions.expand(3, -1)[:, :, None],
        attention_mask=dict.fromkeys(model.model.language_model.config.layer_types, before),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    logits: torch.Tensor = read.logits[:, -1].float()
    return logits


def _numbers(
    config: Any, given: torch.Tensor | None, rows: int, tokens: int, device: torch.device
) -> torch.Tensor | None:
    if not config.do_sample or given is not None:
        return given if config.do_sample else None
    return torch.rand((rows, tokens), dtype=precision(device), device=device)


def _check_windows(text: Any, longest: int) -> None:
    if text.sliding_window is not None and longest > text.sliding_window:
        raise ValueError(
            f"prompt and report may have {longest} tokens, the policy's sliding_window is "
            f"{text.sliding_window}: set max_new_tokens lower, or its use_sliding_window to false"
        )


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
        return drawn(logits, self.numbers[:, self.step - 1], self.top_p)

    def select(self, rows: torch.Tensor) -> None:
        if self.numbers is not None:
            self.numbers = self.numbers[rows]


def _synced(model: Any) -> bool:
    """Whether processes hold parts of the weights, and so must ask for equally many forward passes."""
    several = torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1
    return several and bool(is_deepspeed_zero3_enabled() or is_fsdp_managed_module(model))


def _all(done: bool, synced: bool, device: torch.device) -> bool:
    """Whether this process is done, and all others where they are synced."""
    if not synced:
        return done
    at_work = torch.tensor(0.0 if done else 1.0, device=device)
    torch.distributed.all_reduce(at_work)
    return at_work.item() == 0
