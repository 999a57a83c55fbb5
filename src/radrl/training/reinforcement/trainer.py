"""TRL's trainer with the parts it is handed: reward, credit and oracle.

TRL keeps the loop, generation (unless a sampler draws), the clipped loss, its correction for another sampler
and the KL term. Only three things are overridden. One is what the papers do otherwise: how rewards become
advantages, that rewards are kept exact on the way, and the oracle's term beside the loss. Another is what
would make a resumed run differ from an unbroken one. The last is what TRL computes for each rollout although
the group shares its film and prompt (`policy.shared_prefill`, `shared_forward`). All log-probabilities, of
the policy, the frozen start and the oracle, come from `_get_per_token_logps_and_entropies`. The frozen start
is asked once the rewards are known: the references that the oracle prefers then go through it beside the
rollouts of their film, as they do through the policy.

Departures from TRL: a group is without variance when its rewards are equal, not when their standard deviation
is near zero; advantages follow `algorithms.advantages` in the convention that params.yaml names; missing
scores are not taken as 0 (`radrl.algorithms.total_reward`); weights of parts may change with the steps;
rollouts are not shuffled between generation and update.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from datasets import Dataset
from trl import GRPOTrainer
from trl.trainer.utils import (
    split_pixel_values_by_grid,
    split_tensor_dict,
    unsplit_pixel_values_by_grid,
)

from radrl.algorithms import importance
from radrl.algorithms.total_reward import clinical_totals
from radrl.credit.base import Credit, Rollouts, by_token, weight_numbers
from radrl.policy import families, shared_prefill
from radrl.rewards.base import RewardSum
from radrl.training.checkpoints import EpochOrder, RestoresDraws, RestoresWeights
from radrl.training.reinforcement import groups as by_group
from radrl.training.reinforcement import shared_forward, shares
from radrl.training.reinforcement.drawing import DrawsRollouts
from radrl.training.reinforcement.dynamic_sampling import SamplesDynamically
from radrl.training.reinforcement.frozen_start import AsksFrozenStart, Where
from radrl.training.reinforcement.oracle import (
    AveragedRates,
    Batch,
    Mixing,
    Oracle,
    logprob_batch,
    mean_by_length,
    pair_losses,
    references,
    rows_of,
)
from radrl.training.reinforcement.reward_requests import RewardRequests
from radrl.training.reinforcement.samplers import Sampler
from radrl.training.reinforcement.shared_forward import Rollouts as Rows
from radrl.training.reinforcement.shared_forward import Texts
from radrl.training.reinforcement.trl_forms import as_trl, silenced
from radrl.training.shards import ComputesAsWhole

logger = logging.getLogger(__name__)


class ReportGRPOTrainer(
    SamplesDynamically,
    DrawsRollouts,
    AsksFrozenStart,
    ComputesAsWhole,
    RestoresWeights,
    RestoresDraws,
    GRPOTrainer,
):
    """TRL's trainer with radrl's advantages and credit.

    Args:
        reward: scores reports against references; its parts are logged apart.
        advantage: a convention of `radrl.algorithms.advantages`.
        reward_sum: ``sum``, of the parts' scores, or ``normalised``, of their advantages.
        credit: weighs the tokens that advantages are spread over.
        oracle: prefers reference reports over failed rollouts; nothing for GRPO alone.
        sampler: draws the rollouts from another engine; nothing for the policy's own loop.
        dynamic_sampling: the keys of `radrl.params.training.DynamicSampling`; nothing where groups of equal
            rewards stay as they are.
        frozen_start: where it lies while nothing asks it.
        **trl: everything `trl.GRPOTrainer` takes but the reward functions.
    """

    def __init__(
        self,
        *,
        reward: RewardSum,
        advantage: str,
        reward_sum: str = "sum",
        credit: Credit,
        oracle: Oracle | None = None,
        sampler: Sampler | None = None,
        dynamic_sampling: Mapping[str, Any] | None = None,
        frozen_start: Where = "device",
        **trl: Any,
    ) -> None:
        arguments = trl.pop("args")
        kl = arguments.beta
        if oracle is not None and kl == 0:
            arguments.beta = 1.0  # for the time being: TRL keeps the frozen start for a KL term alone
        self.requests = RewardRequests(reward)
        functions = [as_trl(part, reward, self.requests) for part in reward.parts]
        # it would say that the dtype in model_init_kwargs is not heeded; the frozen start has it
        with silenced("trl.trainer.grpo_trainer"):
            super().__init__(reward_funcs=functions, args=arguments, **trl)
        self.beta = self.args.beta = kl
        self.sampler = sampler
        # once TRL has made no engine of its own: from here on it is what lets it correct for a sampler's
        self.use_vllm = sampler is not None
        models = (own for own in (self.model, self.ref_model) if own is not None)
        known = [self.accelerator.unwrap_model(own) for own in models]
        _share(known)
        for own in known:
            bare = shared_prefill.bare(own)
            families.family_of_model(bare).ready(bare)
        self._put_start(frozen_start)
        self.beside: Texts | None = None
        self.last_of_texts: torch.Tensor | None = None
        self.reward, self.credit, self.oracle, self.averaged_rates = reward, credit, oracle, AveragedRates()
        self.advantage, self.by_part = advantage, reward_sum == "normalised"
        self.pair_sums = torch.zeros(4, device=self.accelerator.device)
        if oracle is not None:
            self.add_callback(self.averaged_rates)
        self._sample_dynamically(dynamic_sampling)

    def _get_train_sampler(self, dataset: Dataset | None = None) -> EpochOrder:
        films = super()._get_train_sampler(dataset)
        return EpochOrder(films, seed=self.args.data_seed, epoch=lambda: int(self.state.epoch or 0))

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> torch.Tensor:
        # before the rewards, which then find what the credit's labeler has read in its memory
        self.written = self._rollouts(inputs, completions, completion_ids_list)
        self.token_weights = shares.weigh(self.accelerator, self.credit, self.written)
        self._weigh_parts()
        with silenced("trl.trainer.grpo_trainer"):  # it would print reports that no part has a score for
            rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        self.part_scores = rewards.double().cpu().numpy()  # (all B, parts), raw; NaN is missing
        return rewards

    def _weigh_parts(self) -> None:
        # the state is in every checkpoint, so a resumed run is in the same phase as an unbroken one
        weights = self.reward.weights(self.state.global_step / self.args.max_steps)
        self.reward_weights = torch.tensor(weights, dtype=torch.float32)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        with self._no_kl():
            batch = super()._generate_and_score_completions(inputs)
        size = self._group_size
        parts = self.part_scores.reshape(-1, size, len(self.reward.parts))  # (prompts, G, parts)
        weights = self.reward_weights.double().numpy()
        groups = self._totals(self.part_scores)  # (prompts, G)
        clinical = clinical_totals(parts, weights, [part.reward.clinical for part in self.reward.parts])
        earned = groups if clinical is None else clinical
        by_part = by_group.summed_advantages(parts, weights, self.advantage) if self.by_part else None
        advantages = by_group.advantages(groups, self.advantage) if by_part is None else by_part
        mine = slice(
            self.accelerator.process_index * len(inputs), (self.accelerator.process_index + 1) * len(inputs)
        )
        spread = by_token(advantages.reshape(-1)[mine], self.token_weights, batch["completion_mask"].shape[1])
        if self.oracle is not None:
            mixing = self._mix(inputs, batch, earned)
            spread *= mixing.grpo.repeat(size)[mine, None]
            if mixing.pairs.any():  # as a whole, so that all processes ask for the same forward passes
                batch |= self._pairs(inputs, mixing.pairs.reshape(-1)[mine])
        batch["advantages"] = torch.as_tensor(spread, dtype=torch.float32, device=self.accelerator.device)
        if self.beta != 0 or "pair_weight" in batch:
            batch |= self._of_the_start(batch)
        self._log_numbers(by_group.numbers(groups, earned, by_part))
        self._log_ratios(batch)
        self._log_parts(groups)
        self._log_credit()
        return batch

    @contextmanager
    def _no_kl(self) -> Iterator[None]:
        """A block in which TRL does not ask the frozen start, which is asked when the rewards are known."""
        kl, self.beta = self.beta, 0.0
        try:
            yield
        finally:
            self.beta = kl

    def _mix(self, inputs: list[dict[str, Any]], batch: Batch, earned: np.ndarray) -> Mixing:
        """How this step's losses are mixed, the same on all processes."""
        size = self._group_size
        prompts = gather_object([row["sample_id"] for row in inputs])[::size]
        written = self.accelerator.gather(batch["completion_mask"].any(dim=1)).cpu().numpy()
        mixing, self.averaged_rates.rates = self.oracle.mix(
            self.averaged_rates.rates, prompts, earned, written.reshape(-1, size)
        )
        self._log_numbers(mixing.numbers)
        return mixing

    def _pairs(self, inputs: list[dict[str, Any]], pairs: np.ndarray) -> Batch:
        """What the oracle prefers to what: a row a rollout, as everything TRL parts."""
        device = self.accelerator.device
        ids, mask = (own.to(device) for own in self.oracle.encode([row["reference"] for row in inputs]))
        films = [row["sample_id"] for row in inputs]
        return {
            "pair_weight": torch.as_tensor(pairs, dtype=torch.float32, device=device),
            # rollouts of a film share its reference
            "film": torch.tensor([films.index(film) for film in films], device=device),
            "reference_ids": ids,
            "reference_mask": mask,
        }

    def _of_the_start(self, batch: Batch) -> Batch:
        """What the frozen start says of a batch's rollouts and of the references among its pairs."""
        size = getattr(self.args, f"per_device_{'train' if self.model.training else 'eval'}_batch_size")
        texts, own = references(batch) if "pair_weight" in batch else (None, None)
        with torch.no_grad(), self._frozen_start() as start:
            with self._beside(texts):
                rollouts = self._get_per_token_logps_and_entropies(
                    start, batch_size=size, **logprob_batch(batch)
                )[0]
            if texts is not None:
                found = mean_by_length(self._of_texts(start, batch, texts, size), texts.mask)
        known = {} if self.beta == 0 else {"ref_per_token_logps": rollouts}
        if texts is None:
            return known
        of_rollouts = mean_by_length(rollouts, batch["completion_mask"])
        return known | {"reference_start": found[own], "rollout_start": of_rollouts}

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """TRL's without its shuffling, which would scatter a film's rollouts over the parts of a step.

        A step is the sum over its parts, and which films come together the sampler has drawn.
        """
        if not self.model.training:
            return super()._prepare_inputs(generation_batch)
        parts = self.args.steps_per_generation
        if self._step % (parts * self.num_iterations) == 0 or self._buffered_inputs is None:
            batch = split_pixel_values_by_grid(self._generate_and_score_completions(generation_batch))
            self._buffered_inputs = [unsplit_pixel_values_by_grid(x) for x in split_tensor_dict(batch, parts)]
        return self._buffered_inputs[self._step % parts]

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **films: Any,
    ) -> Any:
        known = self.accelerator.unwrap_model(model)
        self.last_of_texts = None
        if shared_forward.enabled(known):
            rows = Rows.from_trl(input_ids, attention_mask, logits_to_keep, films, known.config)
            found = self._by_shared_rows(model, rows, batch_size or len(input_ids), compute_entropy)
        else:
            found = super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, batch_size, compute_entropy, **films
            )
        self.last_log_probabilities = found[0]  # with their graph: the oracle needs not ask again
        return found

    def _by_shared_rows(
        self, model: Any, rows: Rows, size: int, entropies: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None, None]:
        """Log-probabilities and entropies of rollouts, `size` at once, and what goes beside them."""
        found = []
        for start in range(0, len(rows.ids), size):
            with self.accelerator.autocast():
                own = shared_forward.log_probabilities(
                    model,
                    self.accelerator.unwrap_model(model),
                    rows.part(slice(start, start + size)),
                    self.beside and self.beside.behind_rollouts(start, start + size),
                    temperature=self.temperature,
                    entropies=entropies,
                    entropy_gradient=self._entropy_bonus_enabled,
                )
            found.append(own)
        logps, entropy, texts = zip(*found, strict=True)
        if self.beside is not None:
            self.last_of_texts = torch.cat([own for own in texts if own is not None])
        return torch.cat(logps), torch.cat(entropy) if entropies else None, None

    @contextmanager
    def _beside(self, texts: Texts | None) -> Iterator[None]:
        """A block in which texts go through the model beside the rollouts of their prompt, if it can."""
        self.beside = texts
        try:
            yield
        finally:
            self.beside = None

    def _of_texts(self, model: Any, batch: Batch, texts: Texts, size: int | None = None) -> torch.Tensor:
        """Log-probabilities of texts: as found beside the rollouts, or by a pass of their own; (N, T)."""
        if self.last_of_texts is not None:
            return self.last_of_texts
        even = texts if size is None else shares.evened(self.accelerator, texts, size)
        found = self._get_per_token_logps_and_entropies(model, batch_size=size, **rows_of(batch, even))[0]
        return found[: len(texts.rows)]

    def _compute_loss(self, model: Any, inputs: Batch) -> torch.Tensor:
        if "pair_weight" not in inputs:
            return super()._compute_loss(model, inputs)
        with self._beside(references(inputs)[0]):
            loss = super()._compute_loss(model, inputs)
        return loss + self._preference(model, inputs) / self.current_gradient_accumulation_steps

    def _preference(self, model: Any, inputs: Batch) -> torch.Tensor:
        """The oracle's term of a micro-batch: mean over its rollouts (OraPO, eq. 7 and 11)."""
        weight = inputs["pair_weight"]
        policy = mean_by_length(self.last_log_probabilities, inputs["completion_mask"])
        texts, own = references(inputs)
        found = mean_by_length(self._of_texts(model, inputs, texts), texts.mask)
        gains = found[own] - inputs["reference_start"]
        margins = gains - (policy - inputs["rollout_start"])
        losses = pair_losses(margins, self.oracle.tau)
        self._log_pairs(torch.stack([gains, margins, losses, torch.ones_like(losses)]).detach(), weight > 0)
        return (weight * losses).sum() / len(weight)

    def _log_pairs(self, numbers: torch.Tensor, chosen: torch.Tensor) -> None:
        """Mean margin, its two halves and loss over a step's pairs: parts have different numbers of them.

        Rollouts are drawn from the policy, so what they lose is the KL to the start with its sign turned.
        """
        self.pair_sums = self.pair_sums + (numbers * chosen).sum(dim=1)
        if not self.accelerator.sync_gradients:  # not yet the last part of the step
            return
        gain, margin, loss, count = self.accelerator.reduce(self.pair_sums, reduction="sum").tolist()
        self.pair_sums = torch.zeros_like(self.pair_sums)
        self._metrics["train"]["oracle/reference_gain"].append(gain / count)
        self._metrics["train"]["oracle/rollout_loss"].append((margin - gain) / count)
        self._metrics["train"]["oracle/margin"].append(margin / count)
        self._metrics["train"]["oracle/loss"].append(loss / count)

    @property
    def _group_size(self) -> int:
        size: int = self.num_generations if self.model.training else self.num_generations_eval
        return size

    def _rollouts(self, inputs: Any, completions: Any, completion_ids_list: Any) -> Rollouts:
        return Rollouts(
            ids=completion_ids_list,
            outputs=[completion[0]["content"] for completion in completions],
            references=[row["label_text"] for row in inputs],
            sample_ids=[row["sample_id"] for row in inputs],
            group=self._group_size,
            form=self.reward.output,
        )

    def _log_parts(self, groups: np.ndarray) -> None:
        """What TRL does not log of the parts: weights that change, scores that are missing."""
        metrics = self._metrics["train" if self.model.training else "eval"]
        for i, part in enumerate(self.reward.parts):
            if part.has_phases:
                metrics[f"rewards/{part.name}/weight"].append(self.reward_weights[i].item())
            if part.missing == "skip":
                missing = np.isnan(self.part_scores[:, i])
                metrics[f"rewards/{part.name}/missing_share"].append(float(missing.mean()))
        if np.isnan(self.part_scores).any():  # TRL's sum takes a missing part as 0
            scored = groups[~np.isnan(groups)]
            metrics["reward"][-1] = float(scored.mean()) if scored.size else float("nan")
            metrics["reward_std"][-1] = float(scored.std(ddof=1)) if scored.size > 1 else float("nan")

    def _log_credit(self) -> None:
        if self.token_weights is not None:
            self._log_numbers(weight_numbers(gather_object(self.token_weights.of_text())))

    def _log_ratios(self, batch: Batch) -> None:
        """What TRL's correction caps, before it does."""
        if "importance_sampling_ratio" not in batch:
            return
        names = ("old_per_token_logps", "sampling_per_token_logps", "completion_mask")
        mode, cap = self.vllm_importance_sampling_mode, self.vllm_importance_sampling_clip_max
        own = importance.ratios(*(batch[name].cpu().numpy() for name in names), mode=mode, cap=cap)
        self._log_numbers(importance.numbers(gather_object([own])))

    def _log_numbers(self, numbers: Mapping[str, float]) -> None:
        metrics = self._metrics["train" if self.model.training else "eval"]
        for name, value in numbers.items():
            metrics[name].append(value)


def _share(models: Sequence[Any]) -> None:
    """Let models compute a group's film and prompt once, or say why they cannot."""
    reasons = [reason for own in models if (reason := shared_forward.enable(own))]
    if reasons:
        logger.warning(
            "a film and its prompt go through the policy once for each rollout, not once for each group, "
            "which costs up to as many times the time and the memory: %s",
            reasons[0],
        )
    else:
        logger.info("a film and its prompt go through the policy once for all rollouts of a group")
