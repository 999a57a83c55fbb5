"""Attention of rollouts to prompts whose keys and values are held once, whatever the number of rollouts.

A step of decoding asks with one token a rollout. The rollouts of a prompt ask its keys together, as the rows
of one matrix product, and their own keys each for itself; one softmax goes over both, as it would with
copies of the prompt (Hydragen, Juravsky et al. 2024, who join two softmaxes instead, for kernels that keep no
scores). Copies would cost their memory, and reading all of them for each token.

`Prompts` travels where transformers takes a mask for each kind of layer, and `attend` is one of its attention
functions while tokens are decoded, so it is the model's public forward that is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import torch
from transformers import AttentionInterface

NAME: Final = "decoding_from_shared_prompts"
"""Of `attend` among transformers' attention functions."""


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """The keys and values of P prompts, and which of B rollouts follow which.

    Args:
        layers: of each layer keys and values, both (P, heads, L, D).
        padding: True where a prompt has no token, shape (P, 1, 1, L); nothing where all have L.
        owners: the prompt of each rollout, shape (B,).
        slots: the rollout in each of the G slots of each prompt, any where it has fewer, shape (P G,);
            nothing where rollouts fill them in their order.
        places: the slot of each rollout, shape (B,); nothing in the same case.
        unwritten: True where a rollout's own keys are none yet, shape (T,); nothing where all are.
    """

    layers: Sequence[tuple[torch.Tensor, torch.Tensor]]
    padding: torch.Tensor | None
    owners: torch.Tensor
    slots: torch.Tensor | None
    places: torch.Tensor | None
    unwritten: torch.Tensor | None = None

    @classmethod
    def in_slots(
        cls,
        layers: Sequence[tuple[torch.Tensor, torch.Tensor]],
        padding: torch.Tensor | None,
        owners: torch.Tensor,
    ) -> Prompts:
        """With each prompt's rollouts laid into as many slots as the largest group needs."""
        counts = owners.bincount(minlength=len(layers[0][0]))
        size, order = int(counts.max()), owners.argsort(stable=True)
        inner = torch.empty_like(order)
        inner[order] = (
            torch.arange(len(owners), device=owners.device) - (counts.cumsum(0) - counts)[owners[order]]
        )
        places = owners * size + inner
        if torch.equal(places, torch.arange(len(counts) * size, device=places.device)):
            return cls(layers, padding, owners, None, None)
        slots = torch.zeros(len(counts) * size, dtype=torch.long, device=owners.device)
        slots[places] = torch.arange(len(owners), device=owners.device)
        return cls(layers, padding, owners, slots, places)

    def select(self, rows: torch.Tensor) -> Prompts:
        """Of some of the rollouts, and the prompts that these still need."""
        needed, owners = self.owners[rows].unique(return_inverse=True)
        if len(needed) == len(self.layers[0][0]):
            return Prompts.in_slots(self.layers, self.padding, owners)
        layers = [(keys[needed], values[needed]) for keys, values in self.layers]
        return Prompts.in_slots(layers, None if self.padding is None else self.padding[needed], owners)

    @property
    def alone(self) -> bool:
        """Whether each prompt has one rollout, in their order."""
        return self.slots is None and len(self.owners) == len(self.layers[0][0])

    def together(self, rows: torch.Tensor) -> torch.Tensor:
        """What is said of rollouts, (B, heads, R, X), as rows of their prompts: (P, heads, G R, X)."""
        if self.alone:
            return rows
        spread = rows if self.slots is None else rows.index_select(0, self.slots)
        return spread.unflatten(0, (len(self.layers[0][0]), -1)).transpose(1, 2).flatten(2, 3)

    def split(self, rows: torch.Tensor, count: int) -> torch.Tensor:
        """The inverse of `together`, for R of `count`."""
        if self.alone:
            return rows
        spread = rows.unflatten(2, (-1, count)).transpose(1, 2).flatten(0, 1)
        return spread if self.places is None else spread.index_select(0, self.places)


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Prompts | None,
    *,
    scaling: float,
    dropout: float = 0.0,
    shared: Prompts | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of one token of each of B rollouts to its prompt and to its own tokens.

    Args:
        module: the layer.
        query: shape (B, heads, 1, D).
        key: of a rollout's own T tokens, this one the last, shape (B, key heads, T, D).
        value: as key.
        attention_mask: the prompts.
        scaling: of the scores.
        dropout: share of the weights that is dropped.
        shared: the prompts, of a family whose forward takes no mask for each kind of layer.

    Returns:
        Shape (B, 1, heads, D), and nothing, for weights are not kept.
    """
    prompts = attention_mask if shared is None else shared
    keys, values = prompts.layers[module.layer_idx]
    asked = query.reshape(*key.shape[:2], -1, query.shape[-1])  # (B, key heads, R, D)
    sharing, dtype = asked.shape[2], value.dtype
    with _exact(query.device.type):
        asked, keys, key = (_widened(states.to(dtype)) for states in (asked, keys, key))
        asked = asked * scaling
        of_prompt = prompts.together(asked) @ keys.transpose(2, 3)  # (P, key heads, G R, L)
        of_own = asked @ key.transpose(2, 3)
    if prompts.padding is not None:
        of_prompt = of_prompt.masked_fill(prompts.padding, -torch.inf)
    if prompts.unwritten is not None:
        of_own = of_own.masked_fill(prompts.unwritten, -torch.inf)
    scores = torch.cat([prompts.split(of_prompt, sharing), of_own], dim=3)
    weights = scores.softmax(dim=3, dtype=torch.float32).to(value.dtype)  # (B, key heads, R, L + T)
    if dropout:
        weights = torch.nn.functional.dropout(weights, dropout)
    before, own = weights.split([keys.shape[2], key.shape[2]], dim=3)
    found = prompts.split(prompts.together(before) @ values, sharing) + own @ value
    return found.reshape(len(query), 1, -1, query.shape[-1]), None


def _exact(device: str) -> AbstractContextManager[object]:
    """A block in which products keep the precision of their factors: autocast would round them."""
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()


def _widened(states: torch.Tensor) -> torch.Tensor:
    """In float32 at least, as torch's attention keeps scores: bfloat16 has two digits of them."""
    return states.float() if states.dtype in (torch.bfloat16, torch.float16) else states


AttentionInterface.register(NAME, attend)


@contextmanager
def attending(config: Any) -> Iterator[None]:
    """A block in which a language model takes `Prompts` for a mask.

    Args:
        config: the language model's.
    """
    before = config._attn_implementation
    config._attn_implementation = NAME
    try:
        yield
    finally:
        config._attn_implementation = before
