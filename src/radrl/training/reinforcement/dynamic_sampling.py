"""What becomes of groups whose rewards are equal: all their advantages are 0, so they teach nothing.

    redraw    a step draws rollouts on further films until each of its groups teaches, up to a bound
    drop      such groups leave the loss, whose denominator counts what remains

As DAPO's dynamic sampling (arXiv 2503.14476, section 3.2), but for the test: rewards are equal when they are
the same number (`radrl.algorithms.advantages.zero_variance_groups`), so groups of equal fractions are found.

Further films are the next ones of the order that films are drawn in anyway, and the step after goes on behind
them: no film is met twice before all have been, but for those that a pass leaves out. The place in that order
is kept in checkpoints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState
from trl.data_utils import prepare_multimodal_messages

from radrl.algorithms.f_measure import BoolArray, FloatArray
from radrl.algorithms.total_reward import group_totals
from radrl.training.checkpoints import epoch_seed
from radrl.training.reinforcement.groups import equal
from radrl.training.reinforcement.trl_forms import silenced

OVER_TOKENS: Final = ("cispo", "dapo", "vespo")
"""Losses that TRL divides by the tokens of the whole batch, which are counted again of what is left."""
OVER_TOKENS_OF_PARTS: Final = ("bnpo",)
"""Those that it divides by the tokens of a part of the step; all others by reports."""


class FilmOrder:
    """The films of a training in the order of its sampler, pass after pass.

    Args:
        films: how many there are.
        at_once: of a step; a pass leaves out its last incomplete step, as TRL's sampler does.
        seed: of all passes.
    """

    def __init__(self, films: int, at_once: int, seed: int) -> None:
        self.films, self.seed = films, seed
        self.length = films // at_once * at_once
        self._known: dict[int, list[int]] = {}

    def film(self, place: int) -> int:
        """The film at a place, counted from 0 over all passes."""
        number, own = divmod(place, self.length)
        if number not in self._known:
            generator = torch.Generator().manual_seed(epoch_seed(self.seed, number))
            self._known = {number: torch.randperm(self.films, generator=generator).tolist()}
        return self._known[number][own]

    def take(self, count: int, place: int, *, without: Collection[int] = ()) -> tuple[list[int], int]:
        """The next different films.

        Args:
            count: at most so many.
            place: where to begin.
            without: films that are passed over.

        Returns:
            The films, fewer where a whole pass has no more, and the place behind the last of them.
        """
        found: list[int] = []
        behind, last = place, place + count + self.length
        while len(found) < count and place < last:
            film = self.film(place)
            place += 1
            if film not in without and film not in found:
                found.append(film)
                behind, last = place, place + self.length
        return found, behind


class Place(TrainerCallback, ExportableState):  # type: ignore[misc]
    """How far in the order of films a training is, in trainer_state.json: a resumed one goes on there."""

    def __init__(self) -> None:
        self.next = 0

    def state(self) -> dict[str, Any]:
        """What transformers writes into a checkpoint."""
        return {"args": {}, "attributes": {"next": self.next}}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called with the state of the checkpoint, where there is one."""
        if saved := state.stateful_callbacks.get(type(self).__name__):
            self.next = int(saved["attributes"]["next"])


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The G rollouts of a film.

    Args:
        rows: of the dataset, the film's G times.
        ids: of each rollout its tokens.
        log_probabilities: of the engine that drew, of each rollout; nothing where the policy drew.
        scores: of each part of the reward, shape (G, parts).
        teaches: whether two rewards differ.
    """

    rows: Sequence[dict[str, Any]]
    ids: Sequence[Any]
    log_probabilities: Sequence[Any] | None
    scores: torch.Tensor
    teaches: bool


def left_scale(loss: str, kept: BoolArray, at_once: int) -> float:
    """The factor that turns a loss in which dropped reports are masked into the loss of the kept ones alone.

    Args:
        loss: its name, as `radrl.params.losses.NAMES` has them.
        kept: which rollouts of a step, of all processes, are not dropped, shape (B,).
        at_once: rollouts of a part of the step.

    Returns:
        The ratio of all to kept: of reports, or of parts that have a kept report where the loss averages over
        parts. 1 where the loss divides by tokens of the batch; 0 where nothing is kept.

    Example:
        >>> left_scale("grpo", np.array([True, True, True, False]), at_once=2)
        1.3333333333333333
    """
    if not kept.any():
        return 0.0
    if loss in OVER_TOKENS:
        return 1.0
    counted = kept.reshape(-1, at_once).any(axis=1) if loss in OVER_TOKENS_OF_PARTS else kept
    return float(counted.size / counted.sum())


class SamplesDynamically:
    """Mixin of `radrl.training.reinforcement.trainer.ReportGRPOTrainer`: what is done about equal rewards.

    A step that redraws has drawn and scored its rollouts before TRL puts its batch together. TRL is then
    given these rollouts and scores, and draws none itself.
    """

    dynamic: Mapping[str, Any] | None = None
    _known: Sequence[Group] | None = None

    def _sample_dynamically(self, settings: Mapping[str, Any] | None) -> None:
        """Begin to, once TRL's trainer is made; nothing for not at all."""
        self.dynamic = settings
        if settings and settings["mode"] == "redraw":
            trainer: Any = self
            self.place = Place()
            trainer.add_callback(self.place)
            films = len(trainer.train_dataset)
            prompts = trainer.args.generation_batch_size // trainer.num_generations
            self.order = FilmOrder(films, prompts, trainer.args.data_seed)

    def _totals(self, scores: FloatArray) -> FloatArray:
        """Rewards of whole groups, shape (prompts, G), of their parts' scores, shape (prompts * G, parts)."""
        trainer: Any = self
        weights = trainer.reward_weights.double().numpy()
        return group_totals(scores.reshape(-1, trainer._group_size, len(weights)), weights)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        generate = super()._generate_and_score_completions  # type: ignore[misc]
        if self.dynamic is None or not self.model.training:  # type: ignore[attr-defined]
            return dict(generate(inputs))
        if self.dynamic["mode"] == "drop":
            batch = dict(generate(inputs))
            return batch | self._left(batch)
        with self._knowing(self._redrawn(len(inputs))) as groups:
            return dict(generate([row for group in groups for row in group.rows]))

    @contextmanager
    def _knowing(self, groups: Sequence[Group]) -> Iterator[Sequence[Group]]:
        """A block in which nothing is drawn or scored but these groups are given."""
        self._known = groups
        try:
            yield groups
        finally:
            self._known = None

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
        if self._known is None:
            return super()._generate_single_turn(*args, **kwargs)  # type: ignore[misc]
        ids = [own for group in self._known for own in group.ids]
        told = [own for group in self._known for own in group.log_probabilities or ()]
        return ids, told or None

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        if self._known is None:
            found: torch.Tensor = super()._calculate_rewards(*args, **kwargs)  # type: ignore[misc]
            return found
        return torch.cat([group.scores for group in self._known])

    def _redrawn(self, rollouts: int) -> list[Group]:
        """A step's groups: those of the next films, and in place of equal ones those of further films."""
        trainer: Any = self
        trainer._weigh_parts()
        films, place = self.order.take(rollouts // trainer.num_generations, self.place.next)
        tried, groups = set(films), self._drawn(films, attempt=0)
        every, first = list(groups), list(groups)
        for attempt in range(1, 1 + (self.dynamic or {})["at_most"]):
            lacking = [slot for slot, group in enumerate(groups) if not group.teaches]
            films, place = self.order.take(len(lacking), place, without=tried)
            if not films:
                break
            found = self._drawn(films, attempt)
            tried |= set(films)
            every += found
            for slot, group in zip(lacking, [own for own in found if own.teaches], strict=False):
                groups[slot] = group
        self.place.next = place
        further = len(every) - len(groups)
        replaced = sum(new is not old for new, old in zip(groups, first, strict=True))
        numbers = {
            "redrawn_groups": replaced,
            "extra_rollouts": further * trainer.num_generations,
            "equal_share": np.mean([not group.teaches for group in every]),
        }
        trainer._log_numbers({f"dynamic_sampling/{name}": float(own) for name, own in numbers.items()})
        return groups

    def _drawn(self, films: Sequence[int], attempt: int) -> list[Group]:
        """Draw and score the groups of films, as TRL does before it puts a batch together."""
        trainer: Any = self
        size = trainer.num_generations
        rows = trainer.train_dataset.__getitems__([film for film in films for _ in range(size)])
        prompts = [prepare_multimodal_messages(row["prompt"], images=row["images"]) for row in rows]
        trainer.attempt = attempt
        trainer.requests.begin(rows)
        try:
            ids, told = trainer._generate_single_turn(*trainer._tokenize_prompts(prompts), size)
        finally:
            trainer.attempt = 0
        texts = trainer.processing_class.batch_decode(ids, skip_special_tokens=True)
        trainer.requests.finish(texts)
        written = [[{"role": "assistant", "content": text}] for text in texts]
        with silenced("trl.trainer.grpo_trainer"):
            scores = super()._calculate_rewards(rows, prompts, written, ids)  # type: ignore[misc]
        teaches = ~equal(self._totals(scores.double().cpu().numpy()))
        parts = [slice(start, start + size) for start in range(0, len(rows), size)]
        return [
            Group(rows[own], ids[own], told and told[own], scores[own], bool(known))
            for own, known in zip(parts, teaches, strict=True)
        ]

    def _left(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """What makes a batch's loss that of the groups that teach: masks, tokens and a factor."""
        trainer: Any = self
        dropped = equal(self._totals(trainer.part_scores))
        trainer._log_numbers({"dynamic_sampling/dropped_groups": float(dropped.sum())})
        if not dropped.any():
            return {}
        kept = ~dropped.repeat(trainer.num_generations)
        at_once = trainer.args.per_device_train_batch_size
        factor = left_scale(trainer.loss_type, kept, at_once)
        device, mask = trainer.accelerator.device, batch["completion_mask"]
        scale = {"left_scale": torch.tensor(factor, device=device)}
        if not kept.any():  # all is multiplied by 0, and entropy and KL of the step are still told
            return scale
        first = trainer.accelerator.process_index * len(mask)
        own = torch.as_tensor(kept[first : first + len(mask)], device=device)
        # not the attention's mask: forward passes are what they were
        left = mask * own[:, None]
        tokens = trainer.accelerator.gather(left.sum()).sum()
        # processes go through their parts together, and tell one mean of each
        parts = kept.reshape(trainer.accelerator.num_processes, -1, at_once).any(axis=(0, 2))
        told = torch.as_tensor(parts.repeat(at_once), device=device)
        return scale | {"tool_mask": left, "num_items_in_batch": tokens, "part_left": told}

    def _compute_loss(self, model: Any, inputs: Mapping[str, Any]) -> torch.Tensor:
        metrics: Mapping[str, list[float]] = self._metrics["train"]  # type: ignore[attr-defined]
        known = {name: len(own) for name, own in metrics.items()}
        loss: torch.Tensor = super()._compute_loss(model, inputs)  # type: ignore[misc]
        if "part_left" in inputs and not inputs["part_left"].any():
            for name, own in metrics.items():  # means of no token, which TRL takes for 0
                del own[known.get(name, 0) :]
        return loss * inputs["left_scale"] if "left_scale" in inputs else loss
