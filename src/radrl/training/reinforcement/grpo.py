"""Group-relative policy optimisation on reports: settings, films and the four parts become a training run.

    selection   which films it sees         -> `prompt_dataset`
    reward      what a report is worth      -> `radrl.rewards`
    credit      how a report's advantage is spread over its tokens -> `radrl.credit`
    oracle      what the reference report adds to the loss -> `.oracle`

The trainer that uses them is `radrl.training.reinforcement.trainer`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import ProgressCallback, TrainerCallback
from trl import GRPOConfig

from radrl.credit.base import Credit
from radrl.policy.encoding import Films, decode_films
from radrl.policy.folder import Policy, check_weights
from radrl.policy.writer import Prompt, of_each
from radrl.process.devices import processes
from radrl.rewards.base import RewardSum
from radrl.training import batches, device_placement, length, tuning
from radrl.training.callbacks import Report, StepReport, silent
from radrl.training.preflight import check_films
from radrl.training.reinforcement import trl_forms
from radrl.training.reinforcement.frozen_start import Where
from radrl.training.reinforcement.oracle import Oracle
from radrl.training.reinforcement.samplers import Sampler
from radrl.training.reinforcement.trainer import ReportGRPOTrainer
from radrl.training.running import trained
from radrl.training.watching.early_stopping import EarlyStopping, Finite
from radrl.training.watching.rollouts import RolloutWatch, WatchingRollouts
from radrl.training.watching.watch import Watch, Watching


def prompt_dataset(
    films: Sequence[Films],
    reports: Sequence[str],
    sample_ids: Sequence[str],
    prompt: Prompt,
    *,
    label_texts: Sequence[str] | None = None,
) -> Dataset:
    """The selected samples with the instruction, as TRL asks for them; references ride along for the reward.

    Args:
        films: the films of N samples as PNG bytes, asked for and decoded when they are drawn.
        reports: their reference reports.
        sample_ids: their ids, named when a reward fails.
        prompt: the instruction, or N of them.
        label_texts: what labelers read of the reports; nothing for the reports themselves.

    Returns:
        Rows of prompt, images, reference, label_text and sample_id.
    """
    every = of_each(prompt, len(films))

    def decode(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        numbers = rows.pop("number")
        # the rollouts of a film are rows of it
        known = {one: decode_films(films[one]) for one in set(numbers)}
        images = [known[one] for one in numbers]
        asked = [[{"role": "user", "content": every[one]}] for one in numbers]
        return {**rows, "prompt": asked, "images": images}

    table = {
        "number": range(len(films)),
        "reference": list(reports),
        "label_text": list(reports if label_texts is None else label_texts),
        "sample_id": list(sample_ids),
    }
    return Dataset.from_dict(table).with_transform(decode)


def optimise(
    policy: Policy,
    prompts: Dataset,
    *,
    reward: RewardSum,
    credit: Credit,
    oracle: Oracle | None = None,
    sampler: Sampler | None = None,
    settings: Mapping[str, Any],
    seed: int,
    device: torch.device = device_placement.CPU,
    workspace: Path,
    dtype: str = "float32",
    frozen_start: Where = "device",
    report: Report = silent,
    watch: Watch | None = None,
    rollouts: RolloutWatch | None = None,
    observers: Sequence[TrainerCallback] = (),
) -> tuple[Policy, list[dict[str, float]]]:
    """Train a policy on its own reports.

    Args:
        policy: where training starts, in float32; its model is changed in place.
        prompts: the selected films.
        reward: what a report is worth.
        credit: how a report's advantage is spread over its tokens.
        oracle: what the reference report adds to the loss; nothing for GRPO alone.
        sampler: draws the rollouts from another engine; nothing for the policy's own loop.
        settings: the keys of `radrl.params.Training`.
        seed: of the order of films, the draws of rollouts and dropout.
        device: where it trains.
        workspace: folder of checkpoints; training goes on from the last one in it.
        dtype: of the weights that do not train: frozen parts, the base under adapters, the frozen start.
        frozen_start: where it lies while nothing asks it; the numbers are the same.
        report: told each step's numbers.
        watch: validation films whose reports are read as training goes on; a look changes no weight, and
            `settings["watch"]` says whether looks decide when training ends and which weights are kept.
        rollouts: which rollouts are noted to be looked at, in the workspace; that changes nothing either.
        observers: are told what the trainer tells its callbacks, after all that has a part in the training.

    Returns:
        The trained policy, in float32, and its training curve: a row a step, and one of step 0 if watched.

    Raises:
        radrl.training.watching.history_rows.NotFinite: when a loss, gradient or KL is no number; no weights
            are written.
        SettingsError: when there are fewer films than a step takes, or a weight that trains is not float32.
    """
    check_films(len(prompts), settings)
    tuning.prepare_base(policy.model, settings["tunes"], settings.get("lora", {}), dtype)
    counted = {**settings, "steps": length.steps(settings, len(prompts))}
    arguments = _arguments(counted, reward, seed, workspace, device, dtype)
    device_placement.hold(arguments, device)
    if settings["tunes"] != "lora" and (settings["kl"] or oracle is not None):
        # TRL reads the frozen start from there once more, and passes over what is not there
        check_weights(Path(policy.model.name_or_path), numbers=False)
    trainer = ReportGRPOTrainer(
        reward=reward,
        credit=credit,
        oracle=oracle,
        sampler=sampler,
        dynamic_sampling=settings.get("dynamic_sampling"),
        frozen_start=frozen_start,
        advantage=settings["advantage"],
        reward_sum=settings.get("reward_sum", "sum"),
        args=arguments,
        train_dataset=prompts,
        callbacks=[*_looks(watch, policy, report, settings), StepReport(report), Finite()],
        **_tuned(policy, settings),
    )
    if rollouts is not None:
        trainer.add_callback(WatchingRollouts(rollouts, trainer))
    _let_observe(trainer, observers)
    tuning.check_masters(trainer.model)
    keep_best = watch is not None and length.keeps_best(settings["watch"])
    with closing(trainer.requests):
        return trained(trainer, policy, tunes=settings["tunes"], workspace=workspace, keep_best=keep_best)


def _looks(
    watch: Watch | None, policy: Policy, report: Report, settings: Mapping[str, Any]
) -> list[TrainerCallback]:
    """What looks at the watched films, and what follows from it."""
    if watch is None:
        return []
    looks: list[TrainerCallback] = [Watching(watch, policy.processor, report)]
    own = settings["watch"]
    if length.looks_decide(own):
        column, keep_best = watch.column(own["metric"]), length.keeps_best(own)
        looks.append(EarlyStopping(column, own["patience"], keep_best=keep_best))
    return looks


def _tuned(policy: Policy, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The policy as TRL takes it, with adapters where they train."""
    lora = tuning.lora_config(settings["lora"], policy.model) if settings["tunes"] == "lora" else None
    return {"model": policy.model, "processing_class": policy.processor, "peft_config": lora}


def _let_observe(trainer: ReportGRPOTrainer, observers: Sequence[TrainerCallback]) -> None:
    """Add observers; a progress bar takes the place of the trainer's own, or none where bars are off."""
    for observer in observers:
        if isinstance(observer, ProgressCallback):
            if trainer.args.disable_tqdm:
                continue
            trainer.remove_callback(ProgressCallback)
        trainer.add_callback(observer)


def _arguments(
    settings: Mapping[str, Any],
    reward: RewardSum,
    seed: int,
    workspace: Path,
    device: torch.device = device_placement.CPU,
    dtype: str = "float32",
) -> GRPOConfig:
    """Every setting TRL has changed the default of between releases is written out."""
    return GRPOConfig(
        output_dir=str(workspace),
        # of the frozen start, the policy is there already; TRL would spread it over all GPUs it sees
        model_init_kwargs={"dtype": dtype, "device_map": None},
        reward_weights=reward.weights(0.0),  # of the first step; the trainer sets those of each
        seed=seed,
        data_seed=seed,
        **_step(settings, device),
        **_rollouts(settings),
        **_loss(settings),
        **_record(settings),
        **device_placement.arguments(device),
    )


def _step(settings: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    """How a step is parted, and what the optimiser does at its end."""
    parts = batches.of_rollouts(settings, processes())
    return {
        "max_steps": settings["steps"],
        "per_device_train_batch_size": parts.size,
        "gradient_accumulation_steps": parts.number,
        "steps_per_generation": parts.number,
        "num_iterations": settings["iterations"],
        "learning_rate": settings["learning_rate"],
        "lr_scheduler_type": settings["schedule"],
        "warmup_steps": settings["warmup_share"],
        "adam_beta1": settings["adam_betas"][0],
        "adam_beta2": settings["adam_betas"][1],
        "adam_epsilon": 1e-8,
        "weight_decay": settings["weight_decay"],
        "max_grad_norm": settings["gradient_clip"],
        "optim": tuning.optimizer(settings["optimizer"], device),
        "bf16": settings["bf16"],
        "gradient_checkpointing": settings["gradient_checkpointing"],
        "disable_dropout": settings["tunes"] != "lora",
        "use_liger_kernel": False,
    }


def _rollouts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """How rollouts are drawn."""
    return {
        "num_generations": settings["rollouts"],
        "temperature": settings["temperature"],
        "top_p": settings["top_p"],
        "top_k": 0,
        "min_p": None,
        "repetition_penalty": 1.0,
        "max_completion_length": settings["max_new_tokens"],
        "use_vllm": False,  # TRL's own wants vLLM in this process (docs/engines.md)
        **_correction(settings["importance"]),
        "shuffle_dataset": True,
        "remove_unused_columns": False,
        "dataloader_num_workers": 0,
    }


def _correction(importance: Mapping[str, Any] | None) -> dict[str, Any]:
    """How TRL weighs rollouts that another engine has drawn."""
    if importance is None:
        return {"vllm_importance_sampling_correction": False}
    return {
        "vllm_importance_sampling_correction": True,
        "vllm_importance_sampling_mode": importance["mode"],
        "vllm_importance_sampling_clip_max": importance["cap"],
        "vllm_importance_sampling_clip_min": None,
    }


def _loss(settings: Mapping[str, Any]) -> dict[str, Any]:
    """TRL's settings of the loss to be minimised; the trainer itself makes the advantages."""
    return {
        **trl_forms.loss_arguments(
            settings["loss"], clip_low=settings["clip_low"], clip_high=settings["clip_high"]
        ),
        "scale_rewards": "none",
        "multi_objective_aggregation": "sum_then_normalize",
        "beta": settings["kl"],
        "use_bias_correction_kl": False,  # the papers' k3, not DeepSeek-V3.2's weighting of it by the ratio
        "sync_ref_model": False,
        "mask_truncated_completions": settings["mask_truncated"],
        "off_policy_mask_threshold": None,
    }


def _record(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept and told."""
    return {
        "save_steps": settings["checkpoint_every"],
        "save_total_limit": 2,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # it would write a finite loss in place of one that is none
        "log_completions": False,
        "report_to": "none",
        "push_to_hub": False,
    }
