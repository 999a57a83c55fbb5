"""Tokens and operations of a step in each way: what ratios sharing allows, whatever the code.

Counted are the multiplications and additions of the matrix products, two each: of tokens with weights, of
queries with keys and of weights with values, over the pairs of tokens that see one another. Left out are
norms, rotations and softmax, memory, and what Python costs a call; so a ratio of times may lie on either
side. Backward is twice the forward pass, as usual; recomputation under checkpointing is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tower:
    """A vision tower: `hidden`, `layers`, `full` of them unwindowed, `feed_forward`; `values` of a patch of
    `patch` pixels, `window` pixels seen together, `merge` x `merge` patches a token of `out` numbers."""

    hidden: int
    layers: int
    full: int
    feed_forward: int
    values: int
    patch: int
    window: int
    merge: int
    out: int


@dataclass(frozen=True)
class Language:
    """A language model: `hidden`, `layers`, `feed_forward`, `vocabulary`; keys and values have `known`
    numbers each."""

    hidden: int
    layers: int
    feed_forward: int
    vocabulary: int
    known: int


@dataclass(frozen=True)
class Step:
    """What a step consists of.

    Args:
        size: of the films in pixels.
        prompt: tokens of a prompt, those of its film included.
        lengths: of the rollouts, in their order: those of a film are neighbours.
        group: rollouts of a film.
        at_once: rollouts that training takes through the model together.
    """

    size: int
    prompt: int
    lengths: Sequence[int]
    group: int
    at_once: int


@dataclass(frozen=True)
class Operations:
    """Of one forward pass over a step's rollouts, and of writing them."""

    rollout: int
    forward: int

    @property
    def step(self) -> int:
        """Writing, the frozen start's forward pass, the policy's and its backward."""
        return self.rollout + 4 * self.forward


def shapes(config: Any) -> tuple[Tower, Language]:
    """Of a Qwen2.5-VL's configuration."""
    seen, said = config.vision_config, config.text_config
    tower = Tower(
        hidden=seen.hidden_size,
        layers=seen.depth,
        full=len(seen.fullatt_block_indexes),
        feed_forward=seen.intermediate_size,
        values=seen.in_channels * seen.temporal_patch_size * seen.patch_size**2,
        patch=seen.patch_size,
        window=seen.window_size,
        merge=seen.spatial_merge_size,
        out=seen.out_hidden_size,
    )
    head = said.hidden_size // said.num_attention_heads
    language = Language(
        hidden=said.hidden_size,
        layers=said.num_hidden_layers,
        feed_forward=said.intermediate_size,
        vocabulary=said.vocab_size,
        known=said.num_key_value_heads * head,
    )
    return tower, language


def of_film(tower: Tower, size: int) -> int:
    """Operations of a film's way through the tower.

    Args:
        tower: its shape.
        size: of the square film in pixels.
    """
    side = size // tower.patch
    patches = side**2
    whole, rest = divmod(side, tower.window // tower.patch)
    windowed = (whole * (tower.window // tower.patch) ** 2 + rest**2) ** 2  # pairs within windows
    a_patch = 4 * tower.hidden**2 + 3 * tower.hidden * tower.feed_forward
    pairs = (tower.layers - tower.full) * windowed + tower.full * patches**2
    wide = tower.hidden * tower.merge**2
    merger = patches // tower.merge**2 * wide * (wide + tower.out)
    products = patches * (tower.values * tower.hidden + tower.layers * a_patch) + merger
    return 2 * (products + 2 * tower.hidden * pairs)


def of_tokens(language: Language, tokens: int, pairs: int, predicted: int) -> int:
    """Operations of tokens' way through the language model.

    Args:
        language: its shape.
        tokens: that go through it.
        pairs: of a token with one that it sees, itself included.
        predicted: tokens that are asked for their next.
    """
    own = 2 * language.hidden * (language.hidden + language.known)
    own += 3 * language.hidden * language.feed_forward
    products = language.layers * (tokens * own + 2 * language.hidden * pairs)
    return 2 * (products + predicted * language.hidden * language.vocabulary)


def among(tokens: int) -> int:
    """Pairs of tokens in a row, each with itself and those before it."""
    return tokens * (tokens + 1) // 2


def of_way(way: str, tower: Tower, language: Language, step: Step) -> Operations:
    """Operations of a step in one way.

    Args:
        way: ``stock``: a film and a prompt for each rollout, padded to the longest; ``film``: the film once
            a forward pass; ``shared``: film and prompt once, no padding, and who has ended leaves.
        tower: of the policy.
        language: of the policy.
        step: what is computed.

    Example:
        >>> tower = Tower(1, 1, 1, 1, 1, patch=1, window=2, merge=2, out=1)
        >>> step = Step(size=2, prompt=3, lengths=[1, 2], group=2, at_once=2)
        >>> of_way("stock", tower, Language(1, 1, 1, 1, 1), step).forward
        602
        >>> of_way("shared", tower, Language(1, 1, 1, 1, 1), step).forward
        296
    """
    rows, said = len(step.lengths), sum(step.lengths)
    prompt = step.prompt
    film = of_film(tower, step.size)
    films = rows // step.group
    met = len({(row // step.at_once, row // step.group) for row in range(rows)})  # films by part
    if way == "shared":
        # the prompt's last token goes with each rollout, whose own last asks for nothing
        before = prompt - 1
        pairs = among(before), sum(length * before + among(length) for length in step.lengths)
        rollout = films * film + of_tokens(language, films * before + said, films * pairs[0] + pairs[1], said)
        forward = met * film + of_tokens(language, met * before + said, met * pairs[0] + pairs[1], said)
        return Operations(rollout, forward)
    width = prompt + max(step.lengths)
    written = rows * max(step.lengths)
    towers = (rows, rows) if way == "stock" else (films, met)
    rollout = towers[0] * film + of_tokens(language, rows * (width - 1), rows * among(width - 1), written)
    forward = towers[1] * film + of_tokens(language, rows * width, rows * among(width), said)
    return Operations(rollout, forward)
