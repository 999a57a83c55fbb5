"""Three trainers that take the same steps, with timers around their parts.

stock     trl.GRPOTrainer, none of its methods changed: a film and a prompt for each rollout.
film      TRL's, with each film going through the vision tower once a forward pass: what AReaL does since its
          pull request 1676 (areal/models/transformers/vision_dedup.py), rebuilt here on transformers, not its
          own code. AReaL fills its forward passes by length, whatever their groups, and counts 32 % of the
          tower's work as saved at 8 rollouts; here a group's rows are kept together, which is this way at its
          best. Prompts stay with their rows, in generation too (which AReaL leaves to an engine of its own).
shared    radrl's: film and prompt once a group.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

import torch
from transformers import TrainerCallback
from trl import GRPOTrainer
from trl.trainer import grpo_trainer

from grpo_steps.scripts import Play
from radrl.credit.uniform import Uniform
from radrl.policy.shared_prefill import bare, equal_neighbours
from radrl.rewards.base import RewardSum
from radrl.training.reinforcement.reward_requests import RewardRequests
from radrl.training.reinforcement.trainer import ReportGRPOTrainer
from radrl.training.reinforcement.trl_forms import as_trl

PARTS: Final = ("rollout", "reward", "log-probabilities", "update", "step")
"""What is timed. The step is more than the sum: films are decoded and cut into patches, metrics gathered."""


def clock(device: torch.device) -> Callable[[], float]:
    """Seconds of this process' CPU; on an accelerator of the wall, once it has done what it was told."""
    if device.type == "cpu":
        return time.process_time

    def synchronised() -> float:
        torch.accelerator.synchronize()
        return time.perf_counter()

    return synchronised


class Timed:
    """Mixin of a trainer that counts the parts of its steps; its methods are called as they are.

    Attributes:
        seconds: of each step but the first, by part.
    """

    def __init__(self, *, play: Play, **settings: Any) -> None:
        super().__init__(**settings)
        self.play = play
        self.seconds: list[dict[str, float]] = []
        self.passing: Counter[str] = Counter()
        self.now = clock(self.accelerator.device)  # type: ignore[attr-defined]
        self.add_callback(_Boundaries(self))  # type: ignore[attr-defined]

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = self.now()
        yield
        self.passing[name] += self.now() - began

    def _prepare_inputs(self, *args: Any) -> Any:
        with self.part("prepared"):
            return super()._prepare_inputs(*args)  # type: ignore[misc]

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
        self.play.next_step()
        with self.part("rollout"):
            return super()._generate_single_turn(*args, **kwargs)  # type: ignore[misc]

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        with self.part("reward"):
            return super()._calculate_rewards(*args, **kwargs)  # type: ignore[misc]

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        with self.part("forward" if torch.is_grad_enabled() else "log-probabilities"):
            return super()._get_per_token_logps_and_entropies(*args, **kwargs)  # type: ignore[misc]


class _Boundaries(TrainerCallback):  # type: ignore[misc]
    """Where steps begin and end; a step reaches from the end of the one before, and the first has none."""

    def __init__(self, trainer: Timed) -> None:
        self.trainer = trainer
        self.ended: float | None = None
        self.began = 0.0

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.began = self.trainer.now()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        now, passing = self.trainer.now(), self.trainer.passing
        if self.ended is not None:
            # forward, backward, clipping and the optimiser: what is left of training beside what went before
            passing["update"] = now - self.began - passing["prepared"]
            passing["step"] = now - self.ended
            self.trainer.seconds.append({name: passing[name] for name in PARTS})
        passing.clear()
        self.ended = self.trainer.now()


class Stock(Timed, GRPOTrainer):
    """TRL's."""


class FilmShared(Timed, GRPOTrainer):
    """TRL's, rows of a group together, each film encoded once a forward pass."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for model in filter(None, [self.model, self.ref_model]):
            _encode_once(bare(self.accelerator.unwrap_model(model)).model.visual)

    def _prepare_inputs(self, *args: Any) -> Any:
        with patch.object(grpo_trainer, "shuffle_sequence_dict", lambda rows: rows):
            return super()._prepare_inputs(*args)


def _encode_once(tower: Any) -> None:
    """Let a vision tower compute equal neighbours among its films once."""
    plain = tower.forward

    def forward(hidden_states: torch.Tensor, grid_thw: torch.Tensor, **settings: Any) -> Any:
        films = hidden_states.split(grid_thw.prod(dim=1).tolist())
        first, owners = equal_neighbours(grid_thw, films)
        found = plain(torch.cat([films[i] for i in first.tolist()]), grid_thw=grid_thw[first], **settings)
        sizes = (grid_thw[first].prod(dim=1) // tower.spatial_merge_unit).tolist()
        tokens = found.pooler_output.split(sizes)
        found.pooler_output = torch.cat([tokens[i] for i in owners.tolist()])
        return found

    tower.forward = forward


class Shared(Timed, ReportGRPOTrainer):
    """radrl's."""


WAYS: Final[dict[str, type[Timed]]] = {"stock": Stock, "film": FilmShared, "shared": Shared}


def make(
    way: str, play: Play, reward: RewardSum, settings: Mapping[str, Any], arguments: Any, **trl: Any
) -> Timed:
    """A trainer that goes one of the ways.

    Args:
        way: a key of `WAYS`.
        play: what its rollouts say.
        reward: scores them, the same functions in all ways.
        settings: the keys of `radrl.params.training.Training`.
        arguments: as radrl makes them of the settings; rows of films in their order.
        **trl: what `trl.GRPOTrainer` takes otherwise.
    """
    arguments.shuffle_dataset = False  # radrl's draws an epoch's order otherwise than TRL's
    if WAYS[way] is Shared:
        own = {"reward": reward, "advantage": settings["advantage"], "credit": Uniform()}
    else:
        arguments.scale_rewards = "group"  # the convention that params.yaml calls trl
        own = {"reward_funcs": [as_trl(part, reward, RewardRequests(reward)) for part in reward.parts]}
    return WAYS[way](play=play, args=arguments, **own, **trl)


def peak(device: torch.device) -> int:
    """The most memory this process, or its share of the accelerator, has held so far, in bytes."""
    if device.type == "cpu":
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return torch.cuda.max_memory_allocated(device)


def curve(
    trainer: Any, names: Sequence[str] = ("loss", "grad_norm", "kl", "reward")
) -> list[dict[str, float]]:
    """What a trainer's log says of each step: the ways take the same ones."""
    return [
        {name: row[name] for name in names if name in row}
        for row in trainer.state.log_history
        if "loss" in row
    ]
