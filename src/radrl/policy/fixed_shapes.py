"""Decoding in steps of fixed shapes, each recorded once and repeated by the device (a CUDA graph).

Launched from Python, a token of a 3 B policy takes longer to ask for than to compute. A recording is asked
for at once, but repeats the same work on the same memory: so keys and values have room that is reserved once,
tokens that are still to come are masked, and nothing depends on a number that the host would have to know.
Rows leave with their prompt, when its last rollout has ended, and prompts in halves: each number of prompts
needs a recording of its own, so there are few. A row that has ended is read on as padding until then.

A model keeps its recordings, for each batch of a training has the same shapes: they read the weights where
these lie, whatever they have become. Under autocast they read the copies that a block of it makes, and go
with that block. Where a step cannot be recorded it is launched from Python, which is said once.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final
from weakref import WeakKeyDictionary, ref

import torch
from transformers import Cache
from transformers.cache_utils import StaticLayer

from radrl.policy.family import Family
from radrl.policy.shared_prompts import Prompts, attending

LOOK_EVERY: Final = 16
"""Tokens between two looks at which rows have ended, for which the host waits."""
MOST: Final = 8
"""Recordings that a model keeps: of two batch sizes, with their halves."""
LENGTHS: Final = 64
"""Prompts have room for a multiple of so many tokens, since each length needs a recording of its own."""

logger = logging.getLogger(__name__)


def fixes(device: torch.device) -> bool:
    """Whether steps on a device are of fixed shapes: where they can be recorded."""
    return device.type == "cuda"


class _Room(StaticLayer):
    """transformers', whose keys and values are of one dtype: under autocast the keys come in float32."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *own: Any, **named: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """As transformers' has it."""
        return super().update(key_states.to(self.dtype), value_states.to(self.dtype), *own, **named)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What recordings differ by.

    Args:
        prompts: P.
        rows: B.
        length: tokens that a prompt has room for.
        slots: places that rows are laid into; nothing where they fill them in their order.
        room: tokens that a row may have.
        dtype: of keys and values.
        training: whether the model drops out.
    """

    prompts: int
    rows: int
    length: int
    slots: int | None
    room: int
    dtype: torch.dtype
    training: bool

    @classmethod
    def of_batch(cls, before: Prompts, room: int, *, training: bool) -> _Shape:
        """Of a batch that follows its prompts into as much room."""
        keys = before.layers[0][0]
        slots = None if before.slots is None else len(before.slots)
        length = -(-keys.shape[2] // LENGTHS) * LENGTHS
        return cls(len(keys), len(before.owners), length, slots, room, keys.dtype, training)


class _Step:
    """One token of each row, at one shape: the memory it works on, and its recording.

    Args:
        model: without wrappers.
        family: its own.
        before: of a batch of this shape.
        shape: its own.
    """

    def __init__(self, model: Any, family: Family, before: Prompts, shape: _Shape) -> None:
        self._model, self.family = ref(model), family  # else a model would keep itself by its steps
        device, rows, room = before.owners.device, shape.rows, shape.room
        self.tokens = torch.zeros((rows, 1), dtype=torch.long, device=device)
        self.positions = torch.zeros(rows, dtype=torch.long, device=device)
        self.read = torch.zeros(1, dtype=torch.long, device=device)  # tokens of each row so far
        self.places = torch.arange(room, device=device)
        self.unwritten = torch.ones(room, dtype=torch.bool, device=device)
        self.before = replace(_with_room(before, shape.length), unwritten=self.unwritten)
        self.cache = Cache(layers=[_Room(room) for _ in before.layers])
        for layer, (keys, values) in zip(self.cache.layers, before.layers, strict=True):
            layer.lazy_initialization(keys[:1].expand(rows, -1, -1, -1), values[:1].expand(rows, -1, -1, -1))
        self.logits: torch.Tensor | None = None
        self.recording: torch.cuda.CUDAGraph | None = None

    def begin(self, before: Prompts, positions: torch.Tensor) -> None:
        """Lay a batch into the memory, as it has read its prompts."""
        _copy(before, self.before)
        self.positions.copy_(positions)
        self.read.zero_()
        self.cache.reset()

    def take_over(self, other: _Step, before: Prompts, rows: torch.Tensor) -> None:
        """Lay some rows of another step's batch into the memory, as they have read on."""
        self.begin(before, other.positions[rows])
        self.read.copy_(other.read)
        for own, theirs in zip(self.cache.layers, other.cache.layers, strict=True):
            own.keys.copy_(theirs.keys[rows])
            own.values.copy_(theirs.values[rows])
            own.cumulative_length.copy_(theirs.cumulative_length)

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits behind one more token a row, (B,): float32, (B, V), good until the next call."""
        self.tokens.copy_(tokens[:, None])
        if self.recording is None and _records(tokens.device):
            self._record()
        if self.recording is None:
            self.logits = self._compute()
        else:
            self.recording.replay()
        assert self.logits is not None
        return self.logits

    def _compute(self) -> torch.Tensor:
        torch.gt(self.places, self.read, out=self.unwritten)
        model = self._model()
        assert model is not None  # who decodes knows it
        text = model.model.language_model.config
        found = model(
            input_ids=self.tokens,
            position_ids=self.family.position_ids(self.positions),
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
            **self.family.attention_arguments(text, self.before),
        )
        self.read.add_(1)
        self.positions.add_(1)
        return found.logits[:, -1].float()

    def _record(self) -> None:
        """Compute once beside, so that nothing is set up while recording, then record."""
        counted = [self.read, self.positions, *(layer.cumulative_length for layer in self.cache.layers)]
        kept = [own.clone() for own in counted]
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        try:
            with torch.cuda.stream(beside):
                self._compute()
            torch.cuda.current_stream().wait_stream(beside)
            recording = torch.cuda.CUDAGraph()
            with torch.cuda.graph(recording):
                self.logits = self._compute()
            self.recording = recording
        except RuntimeError as error:
            _say_launched(str(error).splitlines()[0])
        finally:
            for own, before in zip(counted, kept, strict=True):
                own.copy_(before)


def _with_room(before: Prompts, length: int) -> Prompts:
    """The same batch in memory of its own, with room for prompts of so many tokens."""

    def room(states: torch.Tensor) -> torch.Tensor:
        return states.new_zeros((*states.shape[:2], length, states.shape[3]))

    layers = [(room(keys), room(values)) for keys, values in before.layers]
    padding = torch.ones((len(layers[0][0]), 1, 1, length), dtype=torch.bool, device=before.owners.device)
    slots, places = (None if own is None else own.clone() for own in (before.slots, before.places))
    return Prompts(layers, padding, before.owners.clone(), slots, places)


def _copy(before: Prompts, into: Prompts) -> None:
    """Lay a batch into the memory of another of its shape; behind prompts that are shorter is padding."""
    length = before.layers[0][0].shape[2]
    for own, theirs in zip(into.layers, before.layers, strict=True):
        for room, states in zip(own, theirs, strict=True):
            room[:, :, :length].copy_(states)
            room[:, :, length:].zero_()
    assert into.padding is not None  # `_with_room` gives it one
    into.padding.fill_(True)
    into.padding[..., :length] = False if before.padding is None else before.padding
    for name in ("owners", "slots", "places"):
        if (own := getattr(into, name)) is not None:
            own.copy_(getattr(before, name))


_failed: list[str] = []
"""Why steps are launched from Python, where one could not be recorded."""


def _records(device: torch.device) -> bool:
    return device.type == "cuda" and not _failed


@cache
def _say_launched(why: str) -> None:
    """Say once why steps are not recorded, and record none."""
    _failed.append(why)
    logger.warning("tokens are launched one by one from Python, for their step was not recorded: %s", why)


_steps: WeakKeyDictionary[Any, tuple[tuple[int, ...], dict[_Shape, _Step]]] = WeakKeyDictionary()
"""Of each model: where its weights lay, and the steps that read them there."""


def forget(model: Any) -> None:
    """Give back the memory of a model's steps, which are recorded anew where they are wanted again."""
    _steps.pop(model, None)


def _steps_of(model: Any) -> dict[_Shape, _Step]:
    """The steps that a model keeps; none where its weights lie elsewhere now, or autocast has copies."""
    if torch.is_autocast_enabled(model.device.type):
        return {}
    where = tuple(weight.data_ptr() for weight in model.parameters())
    known = _steps.get(model)
    if known is None or known[0] != where:
        _steps[model] = known = (where, {})
    return known[1]


class FixedShapes:
    """What rows written from prompts that are held once have read, and the logits behind it.

    Args:
        model: without wrappers.
        family: its own.
        logits: behind the prompts, shape (B, V).
        positions: of the next token, shape (B,).
        before: the prompts.
        room: tokens that a row may have.
    """

    look_every = LOOK_EVERY

    def __init__(
        self,
        model: Any,
        family: Family,
        logits: torch.Tensor,
        positions: torch.Tensor,
        before: Prompts,
        *,
        room: int,
    ) -> None:
        self.model, self.family, self.room, self.logits = model, family, room, logits
        self.steps = _steps_of(model)
        self.now = self._step(before)
        self.now.begin(before, positions)

    def block(self) -> AbstractContextManager[None]:
        """In which the model takes prompts for a mask."""
        return attending(self.model.model.language_model.config)

    def staying(self, ended: torch.Tensor) -> torch.Tensor | None:
        """Rows that are read on: those of a half of the prompts, or a half of these, that has all at work."""
        owners = self.now.before.owners
        prompts = len(self.now.before.layers[0][0])
        working = torch.zeros(prompts, dtype=torch.long, device=owners.device)
        working[owners[~ended]] = 1
        size = least_half(prompts, int(working.sum()))
        if size == prompts:
            return None
        kept = working.sort(descending=True, stable=True).indices[:size]
        return torch.isin(owners, kept).nonzero()[:, 0]

    def select(self, stay: torch.Tensor) -> None:
        """Go on with some of the rows."""
        before, other = replace(self.now.before, unwritten=None).select(stay), self.now
        self.now = self._step(before)
        self.now.take_over(other, before, stay)

    def step(self, tokens: torch.Tensor) -> None:
        """Read one token a row, (B,): logits become those behind it, float32, shape (B, V)."""
        self.logits = self.now(tokens)

    def _step(self, before: Prompts) -> _Step:
        shape = _Shape.of_batch(before, self.room, training=self.model.training)
        if shape not in self.steps:
            while len(self.steps) >= MOST:
                self.steps.pop(next(iter(self.steps)))
            self.steps[shape] = _Step(self.model, self.family, before, shape)
        return self.steps[shape]


def least_half(prompts: int, working: int) -> int:
    """The least of P, its half, its quarter, ..., each rounded up, that holds as many as work.

    Example:
        >>> [least_half(8, working) for working in (8, 5, 4, 3, 1)]
        [8, 8, 4, 4, 1]
        >>> least_half(7, 3)
        4
    """
    size = prompts
    while size > 1 and -(-size // 2) >= max(working, 1):
        size = -(-size // 2)
    return size
