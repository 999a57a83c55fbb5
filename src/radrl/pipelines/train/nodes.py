"""Nodes of the stage train."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.training import course

if TYPE_CHECKING:
    from transformers import TrainerCallback

    from radrl.policy.folder import Policy

    Observers = Callable[[Mapping[str, Any]], list[TrainerCallback]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """What one arm trains by.

    Args:
        arm: its entry under `arms`.
        training: the section `training`, single keys overridden by the arm's own.
        labeler: the section `labeler`.
        dtype: of the weights that do not train.
        prompt: the instruction for the arm's form of output.
        seed: of the order of films and of rollouts.
        threads: of torch.
        device: where the policy trains and its labelers read.
    """

    arm: dict[str, Any]
    training: dict[str, Any]
    labeler: dict[str, Any]
    dtype: str
    prompt: str
    seed: int
    threads: int
    device: str

    @property
    def form(self) -> str:
        """What the policy writes, one of `radrl.reports.output.FORMS`."""
        return str(self.arm.get("output", "plain"))


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
    settings = course.of_arm(training, arm.get("training", {}))
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
) -> tuple[Callable[[Path], None], pd.DataFrame]:
    """Train one arm; an arm without a reward hands its starting policy on.

    Args:
        corpus: the films; the split `train` is read, and of `val` the films that are watched.
        start: folder of the policy the arm starts from.
        subset: sample_ids the arm sees.
        labeler_models: what the stage labeler wrote.
        settings: of `settle_arm`.
        workspace: checkpoints.
        step_report: told each step's numbers.
        observers: gives the callbacks that look on while an arm trains.

    Returns:
        What writes the policy's folder, and the training curve (empty for an arm that does not train).
    """
    if not settings.arm.get("reward"):
        return partial(shutil.copytree, start, dirs_exist_ok=True), pd.DataFrame({"step": []})

    from radrl.policy import folder
    from radrl.process.devices import place
    from radrl.process.runtime import pin
    from radrl.training.preflight import check_training
    from radrl.training.reinforcement.grpo import optimise, prompt_dataset
    from radrl.training.resume import writing
    from radrl.training.watching.watch import draw_sample

    where = place(settings.device)
    pin(settings.threads, where)
    films = corpora.read(corpus, split="train", columns=["sample_id", "images", "report", "label_text"])
    films = subset.merge(films, on="sample_id", validate="one_to_one")
    watched = draw_sample(corpus, settings.training["watch"], seed=settings.seed)
    own = settings.arm.get("training", {})
    check_training(settings.training, own, films=len(films), policy=start, device=where)
    _tell_passes(settings.training, len(films))
    _claim(workspace, start, labeler_models, films, watched, settings)
    beginning = folder.load(start)
    columns = (films[name].tolist() for name in ("images", "report", "sample_id"))
    policy, curve = optimise(
        beginning,
        prompt_dataset(*columns, settings.prompt, label_texts=films["label_text"].tolist()),
        **_parts(settings, beginning, films, watched, labeler_models),
        settings=settings.training,
        seed=settings.seed,
        device=where,
        workspace=workspace,
        dtype=settings.dtype,
        report=step_report,
        observers=observers(settings.arm),
    )
    return writing(policy, workspace), pd.DataFrame(curve)


def _tell_passes(training: Mapping[str, Any], films: int) -> None:
    """Say how often the films are passed: an arm that does not see them all could do with fewer."""
    passes, steps = course.passes(training, films), course.steps(training, films)
    logger.info("%d updates of %d films: %.2f epochs", steps, films, passes)


def _claim(
    workspace: Path,
    start: Path,
    labeler_models: Path,
    films: pd.DataFrame,
    watched: pd.DataFrame,
    settings: ArmSettings,
) -> None:
    """Keep the workspace for the work that policy, labeler, films and settings name, and for no other."""
    from radrl.storage.workspaces import claim, digest_rows, fingerprint

    tables = {"films": digest_rows(films), "watched": digest_rows(watched)}
    claim(workspace, fingerprint(asdict(settings) | tables, start, labeler_models))


def _parts(
    settings: ArmSettings,
    beginning: Policy,
    films: pd.DataFrame,
    watched: pd.DataFrame,
    labeler_models: Path,
) -> dict[str, Any]:
    """What the arm is trained with, as `optimise` takes it: reward, credit, oracle and watched films."""
    from radrl.credit.build import build as build_credit
    from radrl.labelers.build import build as build_labeler
    from radrl.rewards.build import build as build_reward
    from radrl.training.reinforcement.oracle import Oracle
    from radrl.training.watching.watch import build as build_watch

    arm, form, device = settings.arm, settings.form, settings.device
    # one object a labeler, so that credit and reward share what it has read
    reader = cache(lambda name: build_labeler(settings.labeler, labeler_models, name=name, device=device))
    own, tokenizer = reader(settings.labeler["name"]), beginning.processor.tokenizer
    oracle = arm.get("oracle", "none")
    return {
        "reward": build_reward(arm["reward"], own, references=films["report"].tolist(), output=form),
        "credit": build_credit(arm.get("credit", "uniform"), tokenizer, reader),
        "oracle": None if oracle == "none" else Oracle(tokenizer, **oracle),
        "watch": build_watch(watched, settings.training, prompt=settings.prompt, labeler=own, form=form),
    }
