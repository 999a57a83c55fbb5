"""Next-token training on reference reports: the laptop policy's pretraining and the cold start.

Departure from DEER: learning rate and batch come from params.yaml; the paper's (1e-5, 64) are in its recipe.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments
from transformers.trainer_pt_utils import LengthGroupedSampler

from radrl.policy.encoding import Films, decode_films, encode_examples
from radrl.policy.folder import Policy
from radrl.policy.writer import Prompt, of_each
from radrl.process.devices import processes
from radrl.training import batches, device_placement, tuning
from radrl.training.callbacks import Report, StepReport, silent
from radrl.training.checkpoints import EpochOrder, RestoresWeights
from radrl.training.running import trained
from radrl.training.shards import ComputesAsWhole


class Example(NamedTuple):
    """The films of a sample, an instruction, and the report that should follow."""

    films: Films
    prompt: str
    report: str


class Examples(Dataset[Example]):
    """N examples by index; films are asked for one by one, so that a split's need not be in memory.

    Args:
        films: of N samples.
        prompts: N instructions.
        reports: N reports.

    Raises:
        ValueError: when there are not as many of each.
    """

    def __init__(self, films: Sequence[Films], prompts: Sequence[str], reports: Sequence[str]) -> None:
        if not len(films) == len(prompts) == len(reports):
            raise ValueError(f"{len(films)} films, {len(prompts)} prompts and {len(reports)} reports")
        self.films, self.prompts, self.reports = films, prompts, reports

    @classmethod
    def asking(cls, prompt: Prompt, films: Sequence[Films], reports: Sequence[str]) -> Examples:
        """N samples and their N reports under one instruction."""
        return cls(films, of_each(prompt, len(reports)), reports)

    def __len__(self) -> int:
        return len(self.reports)

    def __getitem__(self, index: int) -> Example:
        return Example(self.films[index], self.prompts[index], self.reports[index])


def fine_tune(
    policy: Policy,
    examples: Examples,
    *,
    settings: Mapping[str, Any],
    seed: int,
    device: torch.device = device_placement.CPU,
    workspace: Path,
    tunes: str = "full",
    dtype: str = "float32",
    report: Report = silent,
) -> tuple[Policy, list[dict[str, float]]]:
    """Teach a policy to write the reference reports.

    Args:
        policy: where training starts, in float32; its model is changed in place.
        examples: the training films and reports.
        settings: the keys of `radrl.params.Supervised` (and `lora` when `tunes` is ``"lora"``).
        seed: of shuffling and dropout.
        device: where it trains.
        workspace: folder of checkpoints; training goes on from the last one in it.
        tunes: see `radrl.training.tuning.freeze`.
        dtype: of the weights that do not train.
        report: told each logged row.

    Returns:
        The trained policy, in float32, and its training curve.

    Raises:
        radrl.training.preflight.SettingsError: when a weight that trains is not float32.
    """
    torch.manual_seed(seed)  # adapters are drawn before the trainer seeds anything
    model = tuning.prepare(policy.model, tunes, settings.get("lora", {}), dtype)
    arguments = _arguments(settings, seed, workspace, device)
    device_placement.hold(arguments, device)
    trainer = _LengthGroupedTrainer(
        model=model,
        args=arguments,
        train_dataset=examples,
        data_collator=_Collator(policy, settings["max_tokens"]),
        callbacks=[StepReport(report)],
    )
    return trained(trainer, policy, tunes=tunes, workspace=workspace)


class _LengthGroupedTrainer(ComputesAsWhole, RestoresWeights, Trainer):
    """Batches hold reports of like length: half of a batch of mixed ones would be padding.

    A step is the mean over its tokens however it is cut. Left alone the trainer takes Qwen2.5-VL for a model
    that cannot be told of a step's tokens, and averages the means of parts of different lengths.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # a whole step's mean is the model's own
        self.model_accepts_loss_kwargs = self.args.gradient_accumulation_steps * self.args.world_size > 1

    def _get_train_sampler(self, train_dataset: Dataset[Example] | None = None) -> EpochOrder:
        examples = train_dataset if train_dataset is not None else self.train_dataset
        parts = self.args.gradient_accumulation_steps * self.args.world_size
        size = self.args.train_batch_size * parts  # a step's batch: processes take its parts in turn
        grouped = LengthGroupedSampler(size, lengths=[len(report) for report in examples.reports])
        return EpochOrder(grouped, seed=self.args.data_seed, epoch=lambda: int(self.state.epoch or 0))


class _Collator:
    def __init__(self, policy: Policy, max_tokens: int) -> None:
        self.processor, self.max_tokens = policy.processor, max_tokens

    def __call__(self, batch: Sequence[Example]) -> dict[str, torch.Tensor]:
        films, prompts, reports = zip(*batch, strict=True)
        return encode_examples(
            self.processor, [decode_films(own) for own in films], reports, prompts, self.max_tokens
        )


def _arguments(
    settings: Mapping[str, Any], seed: int, workspace: Path, device: torch.device = device_placement.CPU
) -> TrainingArguments:
    parts = batches.of_examples(settings, processes())
    return TrainingArguments(
        output_dir=str(workspace),
        num_train_epochs=settings["epochs"],
        per_device_train_batch_size=parts.size,
        gradient_accumulation_steps=parts.number,
        learning_rate=settings["learning_rate"],
        lr_scheduler_type="cosine",
        warmup_steps=settings["warmup_share"],
        weight_decay=settings["weight_decay"],
        max_grad_norm=settings["gradient_clip"],
        optim=tuning.optimizer(settings["optimizer"], device),
        bf16=settings["bf16"],
        seed=seed,
        data_seed=seed,
        save_steps=settings["checkpoint_every"],
        save_total_limit=2,
        # checkpoints fall on logging steps: the losses since the last one are not in a checkpoint
        logging_steps=math.gcd(10, settings["checkpoint_every"]),
        report_to="none",
        remove_unused_columns=False,
        dataloader_num_workers=0,
        label_names=["labels"],
        **device_placement.arguments(device),
    )
