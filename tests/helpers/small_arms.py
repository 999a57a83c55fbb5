"""What small arms train with: settings of training, credit and oracle, and scores that no labeler reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import pandas as pd
import pyarrow.dataset as ds

RULE: Final[dict[str, Any]] = {"tf_idf": {"alpha": 4.0, "tf": "relative", "idf": "plain"}}
WEIGHING: Final[dict[str, Any]] = {
    "beta": 0.5,
    "normalise": "none",
    "uncertain_as_positive": False,
    "no_finding": True,
    "uncertain": False,
}
"""How gradients become weights, whoever reads."""
GRADIENT: Final[dict[str, Any]] = {"gradient": WEIGHING | {"labeler": "chexbert_compact"}}
MIXING: Final[dict[str, Any]] = {
    "momentum": 0.5,
    "per": "prompt",
    "w_min": 0.2,
    "w_max": 0.6,
    "exponent": 2.0,
    "negatives": "zero_reward",
    "without_negatives": "drop_term",
    "tau": 1.5,
}
"""Of the oracle; tau is not 1, so that a tau left out is seen."""


SUPERVISED: Final[dict[str, Any]] = {
    "epochs": 3,
    "batch_size": 3,
    "examples_at_once": 2,
    "learning_rate": 1e-2,
    "optimizer": "adamw",
    "warmup_share": 0.0,
    "weight_decay": 0.0,
    "gradient_clip": 1.0,
    "bf16": False,
    "max_tokens": 24,
    "checkpoint_every": 1,
}
"""Of learning from reports; whoever trains adapters adds `lora`."""

TRAINING: Final[dict[str, Any]] = {
    "steps": 4,
    "epochs": None,
    "prompts_per_step": 2,
    "rollouts": 4,
    "rollouts_at_once": 8,
    "iterations": 1,
    "learning_rate": 1e-2,
    "optimizer": "adamw",
    "schedule": "cosine",
    "warmup_share": 0.0,
    "adam_betas": [0.9, 0.99],
    "weight_decay": 0.0,
    "gradient_clip": 1.0,
    "engine": "hf",
    "importance": {"mode": "token_truncate", "cap": 2.0},
    "temperature": 1.0,
    "top_p": 1.0,
    "max_new_tokens": 6,
    "loss": "grpo",
    "advantage": "trl",
    "clip_low": 0.2,
    "clip_high": 0.3,
    "kl": 0.05,
    "mask_truncated": False,
    "tunes": "full",
    "bf16": False,
    "gradient_checkpointing": False,
    "checkpoint_every": 2,
}
"""Keys of the section training, but for those of adapters."""
REWARD: Final[dict[str, Any]] = {"ce_f1": {"weight": 1.0, "uncertain_as_positive": False, "both_empty": 1.0}}
"""Of the stage train, where nothing else is asked for."""

SETTLED: Final = ("arm", "training", "labeler", "dtype", "prompts", "seed", "threads", "device")
"""Inputs of the stage train that its first node puts together."""


def train_inputs(
    small: dict[str, Any],
    corpus: ds.Dataset,
    start: Path,
    folder: Path,
    *,
    studies: Sequence[int] = (7, 2, 4),
    **arm: Any,
) -> dict[str, Any]:
    """Inputs of the stage train by name.

    Args:
        small: params.yaml with seconds of work.
        corpus: the films.
        start: folder of the policy.
        folder: where its workspace is made.
        studies: of the split train, which the arm sees.
        **arm: what it has otherwise than REWARD alone.
    """
    plain = {"start": "sft", "selection": "full", "reward": REWARD, "credit": "uniform", "oracle": "none"}
    return {
        "corpus": corpus,
        "start": start,
        "subset": pd.DataFrame({"sample_id": [f"train{i}_1" for i in studies]}),
        "arm": plain | arm,
        "training": small["training"],
        "labeler": small["labeler"],
        "labeler_models": folder / "labeler",
        "dtype": "float32",
        "prompts": small["prompts"],
        "seed": 0,
        "threads": 1,
        "device": "cpu",
        "workspace": folder / "work",
    }


def train_stage(**inputs: Any) -> Any:
    """Run the nodes of the stage train: what writes the policy's folder, and the curve.

    Args:
        **inputs: its inputs by name; without `observers` nobody looks on.
    """
    return train_stage_with_rollouts(**inputs)[:2]


def train_stage_with_rollouts(**inputs: Any) -> Any:
    """The same, and the rollouts to look at."""
    from radrl.pipelines.train import settle_arm, train_arm

    settings = settle_arm(*(inputs.pop(name) for name in SETTLED))
    return train_arm(**{"observers": lambda *_: []} | inputs, settings=settings)


class _OfLetters:
    """A score between 0 and 1 of a report's letters, `steps` of them, as shares of `scale`."""

    name: str
    steps: int
    scale: int
    clinical = True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> list[float]:
        return [sum(map(ord, report)) % self.steps / self.scale for report in reports]


class Thirds(_OfLetters):
    """Scores that differ between rollouts of an untrained policy; about a third is 0."""

    name, steps, scale = "thirds", 3, 2

    def __init__(self, clinical: bool = True) -> None:
        self.clinical = clinical


class Letters(_OfLetters):
    """A score that differs between any two rollouts of an untrained policy."""

    name, steps, scale = "letters", 97, 97


class Nothing(_OfLetters):
    """A score of 0 for every rollout."""

    name, steps, scale = "nothing", 1, 1
