"""Log-probabilities of rollouts, their prompts and films computed once and no padding at all.

The rollouts of a micro-batch and its P distinct prompts are laid end to end in one row,

    prompt 1 | ... | prompt P | rollout 1 | ... | rollout B

each prompt without its last token, which begins each of its rollouts instead: so every token of a rollout
predicts the next. A rollout sees its prompt and itself, with the positions it has behind its prompt alone.
Films, projections, feed-forward layers and the head are computed once a token. Attention alone takes the row
apart, as Hydragen does with shared prefixes in inference (Juravsky et al. 2024): a mask of (tokens, tokens)
would cost more than is saved, so who sees whom is told by `Row`, and `attend` asks torch for each prompt
against itself and for each rollout against its prompt and itself.

`Row` travels where transformers takes a mask for each kind of layer, or as a keyword (`Family.told`), so it
is the model's public forward that is called, with whatever wraps it (adapters, processes, checkpointing). Of
a small vocabulary the logits of rollouts alone are asked for; TRL's head in tiles, which on a CPU scores
prompts too and takes three times as long, is for vocabularies whose logits are too many to keep.

Departure from separate rows: where adapters have dropout, a group's rollouts share what is dropped of their
prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.nn.functional import pad
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from radrl.policy import families
from radrl.policy.shared_prefill import bare, by_row, equal_neighbours

NAME: Final = "shared_prompts"
"""Of `attend` among transformers' attention functions: torch's own wherever the mask is no `Row`."""
FULL: Final = "full_attention"
"""transformers' name of layers in which a token sees all before it."""
MOST_LOGITS: Final = 2**24
"""Of a row that are kept at once, 64 MiB in float32; beyond, TRL's head computes them in tiles, twice."""


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
    *,
    shared: Row | None = None,
    **settings: Any,
) -> tuple[torch.Tensor, None]:
    """Attention as transformers asks for it, by torch's: by pieces where the mask is a `Row`.

    Args:
        module: the layer.
        query: shape (1, heads, N, D) for a `Row`.
        key: the same, of fewer heads where they are shared.
        value: as key.
        attention_mask: a mask as torch takes it, or a `Row`.
        shared: a `Row`, of a family whose forward takes no mask for each kind of layer.
        **settings: what torch's attention is told otherwise.

    Returns:
        Shape (1, N, heads, D), and nothing, for weights are not kept.
    """
    row = attention_mask if shared is None else shared
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


def enable(model: Any) -> str | None:
    """Let a model take a `Row` for a mask; one that cannot is left as it is.

    Args:
        model: of a known family, bare or with adapters.

    Returns:
        Why it cannot and what would mend it; nothing where it can.
    """
    if reason := families.family_of_model(bare(model)).no_shared_forward():
        return reason
    config = bare(model).model.language_model.config
    if config._attn_implementation not in ("sdpa", NAME):
        return f"its attention is {config._attn_implementation}; load it with attn_implementation='sdpa'"
    if others := sorted(set(getattr(config, "layer_types", None) or []) - {FULL}):
        return f"it has layers of {', '.join(others)}, whose windows a shared prompt would shift"
    config._attn_implementation = NAME
    return None


def enabled(model: Any) -> bool:
    """Whether a model takes a `Row`."""
    return bool(bare(model).model.language_model.config._attn_implementation == NAME)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts behind the prompts of some of B rollouts, as further rollouts of them.

    Args:
        rows: the rollouts whose prompts they follow, shape (N,).
        ids, mask: their tokens right-padded, and which of them are no padding, (N, T).
    """

    rows: torch.Tensor
    ids: torch.Tensor
    mask: torch.Tensor

    def behind_rollouts(self, start: int, stop: int) -> Texts | None:
        """Those behind the rollouts from `start` to `stop`, counted from there."""
        own = (self.rows >= start) & (self.rows < stop)
        return Texts(self.rows[own] - start, self.ids[own], self.mask[own]) if own.any() else None


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
    def from_trl(
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

    def joined(self, texts: Texts) -> tuple[Rollouts, torch.Tensor]:
        """With texts as further rollouts, each beside the one whose prompt it shares.

        Returns:
            B + N rollouts, and which each of them is: one of the B, or B + the number of its text.
        """
        every = torch.arange(len(self.ids), device=texts.rows.device)
        source = torch.cat([every, texts.rows])
        order = source.argsort(stable=True)  # (B + N,)
        width = max(self.ids.shape[1], texts.ids.shape[1])
        ids, mask = (
            torch.cat([pad(one, (0, width - one.shape[1])) for one in pair])[order]
            for pair in ((self.ids, texts.ids), (self.mask, texts.mask.bool()))
        )
        rows = source[order]
        pixels, grids = ([own[i] for i in rows.tolist()] for own in (self.pixels, self.grids))
        prompts = (own[rows] for own in (self.prompt_ids, self.prompt_mask, self.kinds))
        return Rollouts(*prompts, ids, mask, pixels, grids), order

    def inputs(self, model: Any) -> dict[str, Any]:
        """What the model's forward is asked with: one row of N tokens, those of the rollouts last.

        Args:
            model: a Qwen-VL, bare or with adapters; nothing is computed by it.
        """
        plain = bare(model)
        first, owners = equal_neighbours(self.prompt_ids, self.prompt_mask, self.pixels, self.grids)
        ids, present = self.prompt_ids[first], self.prompt_mask[first]  # (P, L + 1)
        grids = torch.cat([self.grids[i] for i in first.tolist()])
        positions, _ = plain.model.get_rope_index(
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
            **families.family_of_model(plain).attention_arguments(plain.model.language_model.config, row),
            "pixel_values": torch.cat([self.pixels[i] for i in first.tolist()]),
            "image_grid_thw": grids,
        }

    def spread(self, found: torch.Tensor) -> torch.Tensor:
        """What was found for each token of a row, whose last are the rollouts', as (B, C); 0 elsewhere."""
        written = found[len(found) - int(self.mask.sum()) :]
        return written.new_zeros(self.mask.shape).masked_scatter(self.mask, written)


def log_probabilities(
    model: Any,
    known: Any,
    rollouts: Rollouts,
    texts: Texts | None = None,
    *,
    temperature: float,
    entropies: bool,
    entropy_gradient: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """Log-probabilities of rollouts, and of texts beside them, by one forward pass.

    Args:
        model: is called, with whatever wraps it; TRL's `add_fused_lm_head` has been at it.
        known: the same without the wrappers of processes.
        rollouts: B of them, C tokens wide.
        texts: N of them, T tokens wide.
        temperature: what logits are divided by; TRL's head has been told the same.
        entropies: whether they are wanted too.
        entropy_gradient: whether they carry one, for a loss with a reward for doubt; else none is kept.

    Returns:
        Of the rollouts log-probabilities and, if wanted, entropies, both (B, C); log-probabilities of the
        texts, (N, T), if there are any. 0 at padding.
    """
    every, order = (rollouts, None) if texts is None else rollouts.joined(texts)
    found, entropy = _of_row(model, known, every, temperature, entropies, entropy_gradient)
    if texts is None or order is None:
        return found, entropy, None
    count, width = rollouts.ids.shape
    place = order.argsort()
    found, entropy = found[place], None if entropy is None else entropy[place[:count], :width]
    return found[:count, :width], entropy, found[count:, : texts.ids.shape[1]]


def _of_row(
    model: Any,
    known: Any,
    rollouts: Rollouts,
    temperature: float,
    entropies: bool,
    entropy_gradient: bool,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Log-probabilities and, if wanted, entropies of rollouts, both (B, C)."""
    inputs = rollouts.inputs(known)
    written = rollouts.ids[rollouts.mask]  # (N,)
    if len(written) * known.config.get_text_config().vocab_size > MOST_LOGITS:
        labels = torch.full_like(inputs["input_ids"], -100)
        labels[0, labels.shape[1] - len(written) :] = written
        own = model(**inputs, shift_labels=labels, fused_lm_head=True)
        found, entropy = own.log_probs[0], own.entropy[0] if entropies else None
        if entropy is not None and not entropy_gradient:
            entropy = entropy.detach()
    else:
        asked = max(1, len(written))  # 0 would be all; what is said of a prompt's last token is not read
        logits = model(**inputs, logits_to_keep=asked, use_cache=False).logits[0]  # (N, V)
        every = (logits.float() / temperature).log_softmax(dim=-1)
        found = every[: len(written)].gather(1, written[:, None])[:, 0]
        with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
            entropy = _entropy(every) if entropies else None
    return rollouts.spread(found), None if entropy is None else rollouts.spread(entropy)


def _entropy(log_probabilities: torch.Tensor) -> torch.Tensor:
    """Of distributions (N, V), shape (N,)."""
    return -(log_probabilities.exp() * log_probabilities).sum(dim=-1)
