"""The stage train: one arm's reinforcement learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline

from radrl.data import corpus as corpora
from radrl.storage.whole_files import link_folder
from radrl.training import length
from radrl.training.reinforcement import ArmSettings

if TYPE_CHECKING:
    from transformers import TrainerCallback

    Pictures = Callable[[Sequence[str]], Mapping[str, Sequence[bytes]]]
    Observers = Callable[[Mapping[str, Any], Pictures], list[TrainerCallback]]


def settle_arm(
    arm: dict[str, Any],
    training: dict[str, Any],
    labeler: dict[str, Any],
    dtype: str,
    prompts: dict[str, str],
    seed: int,
    threads: int,
    device: str,
) -> ArmSettings:
    """Put together what an arm trains by; see `ArmSettings`.

    Args:
        arm: its entry under `arms`.
        training: the section `training`.
        labeler: the section `labeler`.
        dtype: of the weights that do not train.
        prompts: the instruction for each form of output.
        seed: of all draws.
        threads: of torch.
        device: where the policy trains and its labelers read.
    """
    settings = length.of_arm(training, arm.get("training", {}))
    prompt = prompts[arm.get("output", "plain")]
    return ArmSettings(arm, settings, labeler, dtype, prompt, seed, threads, device)


def train_arm(
    corpus: ds.Dataset,
    start: Path,
    subset: pd.DataFrame,
    labeler_models: Path,
    settings: ArmSettings,
    workspace: Path,
    step_report: Callable[..., None],
    observers: Observers,
    compute: Mapping[str, Any] | None = None,
) -> tuple[Callable[[Path], None], pd.DataFrame, pd.DataFrame]:
    """Train one arm; an arm without a reward hands its starting policy on.

    Args:
        corpus: the films; the split `train` is read, and of `val` the films that are watched.
        start: folder of the policy the arm starts from.
        subset: sample_ids the arm sees.
        labeler_models: what the stage labeler wrote.
        settings: of `settle_arm`.
        workspace: checkpoints.
        step_report: told each step's numbers.
        observers: gives the callbacks that look on while an arm trains, of its entry and of what reads films.
        compute: the section `compute`: the processes that train, how vLLM is run and where the frozen start
            lies; nothing for this one.

    Returns:
        What writes the policy's folder, the training curve and the rollouts to look at (both empty for an arm
        that does not train).
    """
    from radrl.training.watching import rollouts

    if not settings.arm.get("reward"):
        return partial(link_folder, start), pd.DataFrame({"step": []}), rollouts.table([])

    from radrl.training import launching
    from radrl.training.reinforcement.arm import Arm

    sample_ids = subset["sample_id"].tolist()
    vllm = (compute or {}).get("vllm") or {}
    where = (compute or {}).get("frozen_start", "device")
    job = Arm(settings, corpus, sample_ids, start, labeler_models, workspace, vllm, where)
    looks = partial(observers, settings.arm, partial(corpora.pictures, corpus))
    policy, curve = launching.train(job, compute, report=step_report, observers=looks)
    return policy, curve, rollouts.table(rollouts.read_rows(workspace))


def create_pipeline() -> Pipeline:
    """An arm's start and subset -> its policy."""
    return pipeline(
        [
            node(
                settle_arm,
                {
                    "arm": "params:arm",
                    "training": "params:training",
                    "labeler": "params:labeler",
                    "dtype": "params:policy.dtype",
                    "prompts": "params:prompts",
                    "seed": "params:seed",
                    "threads": "params:threads",
                    "device": "params:device",
                },
                "settings",
                name="settle_arm",
            ),
            node(
                train_arm,
                {
                    "corpus": "corpus",
                    "start": "start",
                    "subset": "subset",
                    "labeler_models": "labeler_models",
                    "settings": "settings",
                    "workspace": "workspace",
                    "step_report": "step_report",
                    "compute": "compute",
                    "observers": "observers",
                },
                ["policy", "history", "watched_rollouts"],
                name="train_arm",
            ),
        ]
    )
