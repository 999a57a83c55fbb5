"""Log-probabilities of rollouts, their prompts and films computed once and no padding at all.

The rollouts of a micro-batch and its P distinct prompts are laid end to end in one row,

    prompt 1 | ... | prompt P | rollout 1 | ... | rollout B

each prompt without its last token, which begins each of its rollouts instead: so every token of a rollout
predicts the next. A rollout sees its prompt and itself, with the positions it has behind its prompt alone.
Films, projections, feed-forward layers and the head are computed once a token. Attention alone takes the row
apart, as Hydragen does with shared prefixes in inference (Juravsky et al. 2024): a mask of (tokens, tokens)
would cost more than is saved, so who sees whom is told by `Row`, and `attend` asks torch for each prompt
against itself and for each rollout against its prompt and itself.

`Row` travels where transformers takes a mask for each kind of layer, so it is the model's public forward
that is called, with whatever wraps it (adapters, processes, checkpointing).

Departure from separate rows: where adapters have dropout, a group's rollouts share what is dropped of their
prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from radrl.policy.shared_prefill import bare, by_row, equal_neighbours

NAME: Final = "shared_prompts"
"""Of `attend` among transformers' attention functions: torch's own wherever the mask is no `Row`."""
FULL: Final = "full_attention"
"""transformers' name of layers in which a token sees all before it."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Who sees whom among N tokens.

    Args:
        prompts: index of each token of P prompts, 0 behind their ends, shape (P, L).
        rollouts: the same of B rollouts, shape (B, T).
        owners: the prompt of each rollout, shape (B,).
        mask: whether a rollout's token sees one of its prompt or of itself, (B or 1, 1, T, L + T).
        places: where each token is in prompts and rollouts, flattened and joined, shape (N,).
    """

    prompts: torch.Tensor
    rollouts: torch.Tensor
    owners: torch.Tensor
    mask: torch.Tensor
    places: torch.Tensor


def lay_out(prompts: torch.Tensor, rollouts: torch.Tensor, owners: torch.Tensor) -> Row:
    """The row of prompts and rollouts of some lengths.

    Args:
        prompts: tokens of each prompt, the last left out, shape (P,).
        rollouts: tokens of each rollout, shape (B,).
        owners: the prompt of each rollout, shape (B,).
    """
    first, of_prompt = _places(prompts, start=torch.zeros_like(prompts[0]))
    second, of_rollout = _places(rollouts, start=prompts.sum())
    width = second.shape[1]
    before = torch.ones(width, width, dtype=torch.bool, device=owners.device).tril()  # (T, T)
    seen = of_prompt[:1] if of_prompt.all() else of_prompt[owners]  # (B or 1, L)
    mask = torch.cat(
        [seen[:, None].expand(-1, width, -1), before.expand(len(seen), -1, -1)], dim=2
    )  # behind a rollout's end nothing is asked, so its own padding needs no mask
    places = torch.cat([of_prompt.flatten(), of_rollout.flatten()]).nonzero()[:, 0]
    return Row(first, second, owners, mask[:, None], places)


def _places(lengths: torch.Tensor, start: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Index of each token of pieces laid end to end, and whether there is one; both (pieces, longest)."""
    steps = torch.arange(max(int(lengths.max()), 1), device=lengths.device)
    inside = steps < lengths[:, None]
    starts = start + lengths.cumsum(0) - lengths
    return (starts[:, None] + steps).where(inside, 0), inside


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    **settings: Any,
) -> tuple[torch.Tensor, None]:
    """Attention as transformers asks for it, by torch's: by pieces where the mask is a `Row`.

    Args:
        module: the layer.
        query: shape (1, heads, N, D) for a `Row`.
        key: the same, of fewer heads where they are shared.
        value: as key.
        attention_mask: a mask as torch takes it, or a `Row`.
        **settings: what torch's attention is told otherwise.

    Returns:
        Shape (1, N, heads, D), and nothing, for weights are not kept.
    """
    row = attention_mask
    if not isinstance(row, Row):
        return sdpa_attention_forward(module, query, key, value, row, **settings)
    tokens = [states[0].transpose(0, 1) for states in (query, key, value)]  # (N, heads, D)
    prompts = [_pieces(states, row.prompts) for states in tokens]  # (P, heads, L, D)
    asked, *known = (_pieces(states, row.rollouts) for states in tokens)  # (B, heads, T, D)
    seen = [
        torch.cat([before.index_select(0, row.owners), own], dim=2)
        for before, own in zip(prompts[1:], known, strict=True)
    ]
    of_prompts = sdpa_attention_forward(module, *prompts, None, is_causal=True, **settings)[0]
    of_rollouts = sdpa_attention_forward(module, asked, *seen, row.mask, **settings)[0]
    joined = torch.cat([of_prompts.flatten(0, 1), of_rollouts.flatten(0, 1)])  # (P L + B T, heads, D)
    return joined.index_select(0, row.places)[None], None


def _pieces(states: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Of states (N, heads, D) those at places (R, W), as torch's attention takes them: (R, heads, W, D)."""
    return states.index_select(0, places.flatten()).unflatten(0, places.shape).transpose(1, 2)


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)


def enable(model: Any) -> None:
    """Let a model take a `Row` for a mask; one whose attention is not torch's is left as it is.

    Args:
        model: a Qwen2.5-VL, bare or with adapters.
    """
    config = bare(model).model.language_model.config
    if config._attn_implementation == "sdpa" and set(config.layer_types) == {FULL}:
        config._attn_implementation = NAME


def enabled(model: Any) -> bool:
    """Whether a model takes a `Row`."""
    return bool(bare(model).model.language_model.config._attn_implementation == NAME)


@dataclass(frozen=True, slots=True, eq=False)
class Rollouts:
    """B prompts, each with a rollout.

    Args:
        prompt_ids, prompt_mask: tokens left-padded, and which of them are no padding, (B, L + 1).
        kinds: 1 where a token stands for a part of a film, (B, L + 1).
        ids, mask: tokens of the rollouts right-padded, and which of them are no padding, (B, C).
        pixels, grids: patches and grids of each row's films.
    """

    prompt_ids: torch.Tensor
    prompt_mask: torch.Tensor
    kinds: torch.Tensor
    ids: torch.Tensor
    mask: torch.Tensor
    pixels: Sequence[torch.Tensor]
    grids: Sequence[torch.Tensor]

    @classmethod
    def of(
        cls,
        ids: torch.Tensor,
        mask: torch.Tensor,
        written: int,
        films: dict[str, torch.Tensor],
        config: Any,
    ) -> Rollouts:
        """From what TRL asks log-probabilities for.

        Args:
            ids: prompts and rollouts, (B, L + 1 + C).
            mask: which of them are no padding.
            written: C.
            films: mm_token_type_ids of `ids`, pixel_values, image_grid_thw.
            config: the model's.
        """
        kinds = films["mm_token_type_ids"][:, :-written]
        pixels, grids = by_row(kinds, films["pixel_values"], films["image_grid_thw"], config)
        prompts = ids[:, :-written], mask[:, :-written], kinds
        return cls(*prompts, ids[:, -written:], mask[:, -written:].bool(), pixels, grids)

    def part(self, rows: slice) -> Rollouts:
        """Some of the rows."""
        return Rollouts(*(getattr(self, name)[rows] for name in self.__slots__))

    def inputs(self, model: Any) -> dict[str, Any]:
        """What the model's forward is asked with: one row of N tokens.

        Args:
            model: with or without wrappers; nothing is computed by it.
        """
        first, owners = equal_neighbours(self.prompt_ids, self.prompt_mask, self.pixels, self.grids)
        ids, present = self.prompt_ids[first], self.prompt_mask[first]  # (P, L + 1)
        grids = torch.cat([self.grids[i] for i in first.tolist()])
        positions, _ = bare(model).model.get_rope_index(
            ids, self.kinds[first], image_grid_thw=grids, attention_mask=present
        )  # (3, P, L + 1)
        inner = present[:, :-1].bool()
        begun = torch.cat([ids[owners, -1:], self.ids[:, :-1]], dim=1)  # (B, C)
        behind = positions[:, owners, -1:] + torch.arange(begun.shape[1], device=begun.device)  # (3, B, C)
        before = ids[:, :-1][inner]
        row = lay_out(inner.sum(dim=1), self.mask.sum(dim=1), owners)
        return {
            "input_ids": torch.cat([before, begun[self.mask]])[None],
            "position_ids": torch.cat([positions[:, :, :-1][:, inner], behind[:, self.mask]], dim=1)[:, None],
            "attention_mask": {FULL: row},
            "pixel_values": torch.cat([self.pixels[i] for i in first.tolist()]),
            "image_grid_thw": grids,
            "shift_labels": torch.cat([torch.full_like(before, -100), self.ids[self.mask]])[None],
        }

    def spread(self, found: torch.Tensor) -> torch.Tensor:
        """What was found for each token of the row, as (B, C); 0 where no rollout is."""
        written = found[0, found.shape[1] - int(self.mask.sum()) :]
        return written.new_zeros(self.mask.shape).masked_scatter(self.mask, written)
