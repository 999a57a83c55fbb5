"""The loop that writes rollouts token by token from shared prompts.

It is what transformers' `generate` calls in place of its own (`custom_generate`), after it has made
settings into processors of logits and criteria of an end: the model, the wrappers around `generate` and its
results are as ever. Other than transformers' loop it reads each distinct prompt once and holds its keys and
values once (`shared_prompts`), lets rows leave the batch when they have ended, draws by row (`token_draws`),
and asks the model for the next token without the bookkeeping of cases that do not come up here. Where a
family cannot hold a prompt once (`Family.why_not_shared`), each row reads its own, and all else is as with
shared ones.

On a GPU each token is a step of fixed shapes that is recorded once (`fixed_shapes`), and every so many tokens
the rows are looked at for ends; what is written is the same.

Where processes hold parts of the weights, one that is done goes on asking until all are.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
import torch.distributed
from transformers import DynamicCache, TopPLogitsWarper
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled

from radrl.policy import families
from radrl.policy.family import Family, Inputs
from radrl.policy.fixed_shapes import FixedShapes, fixes
from radrl.policy.shared_prompts import Prompts, attending
from radrl.policy.token_draws import check_drawn, precision, sample_tokens

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
    shares: torch.Tensor | None = None,
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
        shares: is filled with the probability of each token that is drawn, float, shape (N, tokens).

    Returns:
        Prompts and what was written, padded behind its end, (N, T + tokens of the longest).
    """
    start, longest = input_ids.shape[1], generation_config.max_length
    device = input_ids.device
    numbers = _numbers(generation_config, numbers, len(owners), longest - start, device)
    choose = _Choice(logits_processor, numbers, shares)
    padding = generation_config.pad_token_id
    written = input_ids.new_full((len(owners), longest), padding)
    written[:, :start] = input_ids
    rows, synced = torch.arange(len(owners), device=device), _synced(model)
    ended, lengths = torch.zeros_like(rows, dtype=torch.bool), torch.zeros_like(rows)
    reading = _reading(model, prompts, owners, longest, shared_out=synced)
    length, step, done = start, 0, False
    with reading.block():
        while True:
            step += 1
            if not done:
                tokens = choose(written[rows, :length], reading.logits).where(~ended, padding)
                written[rows, length] = tokens
                length += 1
                lengths[rows] = lengths[rows].where(ended, length)
                ended |= stopping_criteria(written[rows, :length], None)
            if step % reading.look_every == 0 or step == longest - start:
                choose.check()
                done = done or bool(ended.all())
                if _all(done, synced, device):
                    return written[:, : int(lengths.max())]
                if not done and (stay := reading.staying(ended)) is not None:
                    rows, tokens, ended = rows[stay], tokens[stay], ended[stay]
                    choose.select(stay)
                    reading.select(stay)
            reading.step(tokens)


def _reading(
    model: Any, prompts: Inputs, owners: torch.Tensor, longest: int, *, shared_out: bool
) -> _Together | _Apart | FixedShapes:
    """How rows are read on, as decoding goes on from it."""
    family = families.family_of_model(model)
    if why_apart := family.why_not_shared(model.model.language_model.config, longest):
        _say_apart(why_apart)
        return _Apart(model, family, prompts, owners)
    if fixes(owners.device) and not shared_out:
        room = longest - prompts["input_ids"].shape[1]
        return FixedShapes(model, family, *prefilled(model, prompts, owners), room=room)
    return _Together(model, family, prompts, owners)


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
    return read.logits[owners, -1].float(), positions[owners], Prompts.in_slots(layers, padding, owners)


class _Together:
    """What rows written from prompts that are held once have read, and the logits behind it.

    Class attributes:
        look_every: tokens between two looks at which rows have ended.

    Args:
        model: without wrappers.
        family: its own.
        prompts: the processor's tensors of P prompts.
        owners: the prompt of each row, shape (N,).
    """

    look_every = 1

    def __init__(self, model: Any, family: Family, prompts: Inputs, owners: torch.Tensor) -> None:
        self.model, self.family, self.cache = model, family, DynamicCache()
        self.logits, self.positions, self.before = prefilled(model, prompts, owners)

    def block(self) -> AbstractContextManager[None]:
        """In which the model takes prompts for a mask."""
        return attending(self.model.model.language_model.config)

    def staying(self, ended: torch.Tensor) -> torch.Tensor | None:
        """Those of the rows, ended or not, shape (B,), that are read on; nothing for all."""
        return (~ended).nonzero()[:, 0] if ended.any() else None

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

    look_every = 1

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

    staying = _Together.staying

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
        numbers: shape (N, tokens), or nothing.
        shares: is filled with the probabilities of what is drawn, shape (N, tokens).
    """

    def __init__(
        self, processors: Any, numbers: torch.Tensor | None, shares: torch.Tensor | None = None
    ) -> None:
        self.processors, self.top_p = list(processors), 1.0
        if self.processors and isinstance(self.processors[-1], TopPLogitsWarper):
            self.top_p = self.processors.pop().top_p
        self.numbers, self.step, self.checked = numbers, 0, 0
        if numbers is not None:
            self.rows = torch.arange(len(numbers), device=numbers.device)
            self.shares = torch.empty_like(numbers) if shares is None else shares

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        for process in self.processors:
            logits = process(ids, logits)
        if self.numbers is None:
            return logits.argmax(dim=-1)
        found, share = sample_tokens(logits, self.numbers[self.rows, self.step], self.top_p)
        self.shares[self.rows, self.step] = share
        self.step += 1
        return found

    def check(self) -> None:
        """Refuse what was drawn since the last check where no token could be."""
        if self.numbers is not None:
            check_drawn(self.shares[self.rows, self.checked : self.step])
            self.checked = self.step

    def select(self, stay: torch.Tensor) -> None:
        """Go on with some of the rows."""
        if self.numbers is not None:
            self.rows = self.rows[stay]


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
