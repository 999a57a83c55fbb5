"""Group-relative policy optimisation on reports: TRL's trainer with four parts it is handed.

    selection   which films it sees         -> `prompt_dataset`
    reward      what a report is worth      -> `radrl.rewards`
    credit      how a report's advantage is spread over its tokens -> `radrl.training.credit_kinds`
    oracle      what the reference report adds to the loss

TRL keeps the loop, generation, the clipped loss and the KL term. Overridden are only the two places where
the papers differ from it (how rewards become advantages, and that rewards are kept exact on the way) and what
keeps a resumed run from being the unbroken one.

Departures from TRL: a group is without variance when its rewards are equal, not when their standard deviation
is near zero; advantages follow `algorithms.advantages` in the convention that params.yaml names; missing
scores are not taken as 0 (`radrl.rewards.total`); weights of parts may change with the steps.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from radrl.algorithms.advantages import group_relative_advantages, zero_variance_groups
from radrl.policy.encoding import Films, decode_films
from radrl.policy.folder import Policy
from radrl.rewards.base import Part, RewardSum
from radrl.rewards.total import group_totals
from radrl.training import tuning
from radrl.training.callbacks import Report, StepReport, history, silent
from radrl.training.credit import Credit, Rollouts, by_token, weight_numbers
from radrl.training.resume import EpochOrder, RestoresWeights, last_checkpoint


def prompt_dataset(
    films: Sequence[Films], reports: Sequence[str], sample_ids: Sequence[str], prompt: str
) -> Dataset:
    """The selected samples with the instruction, as TRL asks for them; references ride along for the reward.

    Args:
        films: the films of N samples as PNG bytes, decoded when they are drawn.
        reports: their reference reports.
        sample_ids: their ids, named when a reward fails.
        prompt: the instruction.

    Returns:
        Rows of prompt, images, reference and sample_id.
    """

    def decode(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        images = [decode_films(own) for own in rows.pop("films")]
        return {**rows, "prompt": [[{"role": "user", "content": prompt}]] * len(images), "images": images}

    table = {"films": list(films), "reference": list(reports), "sample_id": list(sample_ids)}
    return Dataset.from_dict(table).with_transform(decode)


class ReportGRPOTrainer(RestoresWeights, GRPOTrainer):
    """TRL's trainer with radrl's advantages and credit.

    Args:
        reward: scores reports against references; its parts are logged apart.
        advantage: a convention of `radrl.algorithms.advantages`.
        credit: weighs the tokens that advantages are spread over.
        **trl: everything `trl.GRPOTrainer` takes but the reward functions.
    """

    def __init__(self, *, reward: RewardSum, advantage: str, credit: Credit, **trl: Any) -> None:
        super().__init__(reward_funcs=[_as_trl(part, reward) for part in reward.parts], **trl)
        self.reward, self.advantage, self.credit = reward, advantage, credit

    def _get_train_sampler(self, dataset: Dataset | None = None) -> EpochOrder:
        films = super()._get_train_sampler(dataset)
        return EpochOrder(films, seed=self.args.data_seed, epoch=lambda: int(self.state.epoch or 0))

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> torch.Tensor:
        # before the rewards, which then find what the credit's labeler has read in its memory
        self.token_weights = self.credit.weigh(self._rollouts(inputs, completions, completion_ids_list))
        # the state is in every checkpoint, so a resumed run is in the same phase as an unbroken one
        weights = self.reward.weights(self.state.global_step / self.args.max_steps)
        self.reward_weights = torch.tensor(weights, dtype=torch.float32)
        with _silenced("trl.trainer.grpo_trainer"):  # it would print reports that no part has a score for
            rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        self.part_scores = rewards.double().cpu().numpy()  # (all B, parts), raw; NaN is missing
        return rewards

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch = super()._generate_and_score_completions(inputs)
        size = self._group_size
        parts = self.part_scores.reshape(-1, size, len(self.reward.parts))  # (prompts, G, parts)
        groups = group_totals(parts, self.reward_weights.double().numpy())  # (prompts, G)
        advantages = _advantages(groups, self.advantage).reshape(-1)
        mine = slice(
            self.accelerator.process_index * len(inputs), (self.accelerator.process_index + 1) * len(inputs)
        )
        spread = by_token(advantages[mine], self.token_weights, batch["completion_mask"].shape[1])
        batch["advantages"] = torch.as_tensor(spread, dtype=torch.float32, device=self.accelerator.device)
        self._log_groups(groups)
        self._log_parts(groups)
        self._log_credit()
        return batch

    @property
    def _group_size(self) -> int:
        size: int = self.num_generations if self.model.training else self.num_generations_eval
        return size

    def _rollouts(self, inputs: Any, completions: Any, completion_ids_list: Any) -> Rollouts:
        return Rollouts(
            ids=completion_ids_list,
            outputs=[completion[0]["content"] for completion in completions],
            references=[row["reference"] for row in inputs],
            sample_ids=[row["sample_id"] for row in inputs],
            group=self._group_size,
            form=self.reward.output,
        )

    def _log_groups(self, groups: np.ndarray) -> None:
        metrics = self._metrics["train" if self.model.training else "eval"]
        scored = [group[~np.isnan(group)] for group in groups]
        equal = [bool(group.size == 0 or zero_variance_groups(group)) for group in scored]
        metrics["groups/zero_variance_share"].append(float(np.mean(equal)))
        zero = [bool(group.size and (group == 0).all()) for group in scored]
        metrics["groups/all_zero_share"].append(float(np.mean(zero)))
        metrics["groups/zero_reward_share"].append(float((groups == 0).sum() / max(1, sum(map(len, scored)))))
        metrics["groups/unique_rewards"].append(float(np.mean([len(np.unique(group)) for group in scored])))

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
            metrics = self._metrics["train" if self.model.training else "eval"]
            for name, value in weight_numbers(gather_object(self.token_weights.of_text())).items():
                metrics[name].append(value)


def _advantages(groups: np.ndarray, convention: Any) -> np.ndarray:
    """Advantages among a group's rollouts that have a reward, 0 for one that has none; shape (prompts, G)."""
    advantages = np.zeros_like(groups)
    for own, group in zip(advantages, groups, strict=True):
        scored = ~np.isnan(group)
        if scored.any():
            own[scored] = group_relative_advantages(group[scored], convention=convention)
    return advantages


@contextmanager
def _silenced(name: str) -> Iterator[None]:
    """A block in which a logger says nothing."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def optimise(
    policy: Policy,
    prompts: Dataset,
    *,
    reward: RewardSum,
    credit: Credit,
    settings: Mapping[str, Any],
    seed: int,
    workspace: Path,
    report: Report = silent,
) -> tuple[Policy, list[dict[str, float]]]:
    """Train a policy on its own reports.

    Args:
        policy: where training starts; its model is changed in place.
        prompts: the selected films.
        reward: what a report is worth.
        credit: how a report's advantage is spread over its tokens.
        settings: the keys of `radrl.params.Training`.
        seed: of the order of films, the draws of rollouts and dropout.
        workspace: folder of checkpoints; training goes on from the last one in it.
        report: told each step's numbers.

    Returns:
        The trained policy and its training curve, one row a step.

    Raises:
        ValueError: when there are fewer films than a step takes; the trainer would end at once, untrained.
    """
    if len(prompts) < settings["prompts_per_step"]:
        raise ValueError(
            f"the arm's subset has {len(prompts)} films, a step takes {settings['prompts_per_step']}; "
            "lower training.prompts_per_step or choose a larger subset"
        )
    lora = settings["tunes"] == "lora"
    model = policy.model if lora else tuning.prepare(policy.model, settings["tunes"], {})
    trainer = ReportGRPOTrainer(
        reward=reward,
        advantage=settings["advantage"],
        credit=credit,
        model=model,
        args=_arguments(settings, reward, seed, workspace),
        train_dataset=prompts,
        processing_class=policy.processor,
        peft_config=tuning.lora_config(settings["lora"]) if lora else None,
        callbacks=[StepReport(report)],
    )
    trainer.train(resume_from_checkpoint=last_checkpoint(workspace))
    return Policy(
        tuning.finished(trainer.accelerator.unwrap_model(trainer.model)), policy.processor
    ), history(trainer.state)


def _as_trl(part: Part, reward: RewardSum) -> Callable[..., list[float]]:
    """TRL's calling convention around one part of the reward."""

    def score(
        completions: Sequence[Sequence[Mapping[str, str]]],
        reference: Sequence[str],
        sample_id: Sequence[str],
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float]:
        outputs = [completion[0]["content"] for completion in completions]
        scores = reward.score_part(part, outputs, reference, sample_id)
        for name, value in part.reward.told.items():
            log_metric(f"rewards/{part.name}/{name}", value)
        return scores

    score.__name__ = part.name
    return score


def _arguments(settings: Mapping[str, Any], reward: RewardSum, seed: int, workspace: Path) -> GRPOConfig:
    """Every setting TRL has changed the default of between releases is written out."""
    completions = settings["prompts_per_step"] * settings["rollouts"]
    return GRPOConfig(
        output_dir=str(workspace),
        max_steps=settings["steps"],
        per_device_train_batch_size=completions // settings["gradient_accumulation"],
        gradient_accumulation_steps=settings["gradient_accumulation"],
        steps_per_generation=settings["gradient_accumulation"],
        num_generations=settings["rollouts"],
        num_iterations=settings["iterations"],
        learning_rate=settings["learning_rate"],
        lr_scheduler_type=settings["schedule"],
        warmup_steps=settings["warmup_share"],
        adam_beta1=settings["adam_betas"][0],
        adam_beta2=settings["adam_betas"][1],
        adam_epsilon=1e-8,
        weight_decay=settings["weight_decay"],
        max_grad_norm=settings["gradient_clip"],
        optim="adamw_torch",
        temperature=settings["temperature"],
        top_p=settings["top_p"],
        top_k=0,
        min_p=None,
        repetition_penalty=1.0,
        max_completion_length=settings["max_new_tokens"],
        loss_type=settings["loss"],
        scale_rewards="none",
        multi_objective_aggregation="sum_then_normalize",
        reward_weights=reward.weights(0.0),  # of the first step; the trainer sets those of each
        importance_sampling_level="token",
        epsilon=settings["clip_low"],
        epsilon_high=settings["clip_high"],
        delta=None,
        beta=settings["kl"],
        use_bias_correction_kl=False,  # the papers' k3, not DeepSeek-V3.2's weighting of it by the ratio
        sync_ref_model=False,
        mask_truncated_completions=settings["mask_truncated"],
        off_policy_mask_threshold=None,
        entropy_coef=0.0,
        top_entropy_quantile=1.0,
        shuffle_dataset=True,
        bf16=settings["bf16"],
        gradient_checkpointing=settings["gradient_checkpointing"],
        disable_dropout=settings["tunes"] != "lora",
        use_vllm=False,
        use_liger_kernel=False,
        seed=seed,
        data_seed=seed,
        save_steps=settings["checkpoint_every"],
        save_total_limit=2,
        logging_steps=1,
        log_completions=False,
        report_to="none",
        remove_unused_columns=False,
        dataloader_num_workers=0,
        dataloader_pin_memory=torch.cuda.is_available(),
        push_to_hub=False,
    )
