"""Nodes of the stage train."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora

if TYPE_CHECKING:
    from radrl.policy.folder import Policy


def train_arm(
    corpus: ds.Dataset,
    start: Path,
    subset: pd.DataFrame,
    labeler_models: Path,
    arm: dict[str, Any],
    training: dict[str, Any],
    labeler: dict[str, Any],
    dtype: str,
    prompts: dict[str, str],
    seed: int,
    threads: int,
    workspace: Path,
    step_report: Callable[..., None],
) -> tuple[Callable[[Path], None], pd.DataFrame]:
    """Train one arm; an arm without a reward hands its starting policy on.

    Args:
        corpus: the films; the split `train` is read, and of `val` the films that are watched.
        start: folder of the policy the arm starts from.
        subset: sample_ids the arm sees.
        labeler_models: what the stage labeler wrote.
        arm: its entry under `arms`.
        training: the section `training`; the arm's own `training` overrides single keys.
        labeler: the section `labeler`.
        dtype: of the weights.
        prompts: the instruction for each form of output.
        seed: of the order of films and of rollouts.
        threads: of torch.
        workspace: checkpoints.
        step_report: told each step's numbers.

    Returns:
        What writes the policy's folder, and the training curve (empty for an arm that does not train).
    """
    if not arm.get("reward"):
        return partial(shutil.copytree, start, dirs_exist_ok=True), pd.DataFrame({"step": []})

    from radrl.policy import folder
    from radrl.process.runtime import pin
    from radrl.training.preflight import check_training
    from radrl.training.reinforcement.grpo import optimise, prompt_dataset
    from radrl.training.resume import writing
    from radrl.training.watching.watch import draw_sample

    pin(threads)
    settings = training | arm.get("training", {})
    prompt = prompts[arm.get("output", "plain")]
    films = corpora.read(corpus, split="train", columns=["sample_id", "images", "report"])
    films = subset.merge(films, on="sample_id", validate="one_to_one")
    watched = draw_sample(corpus, settings["watch"], seed=seed)
    check_training(settings, arm.get("training", {}), films=len(films), policy=start)
    said = {"arm": arm, "settings": settings, "labeler": labeler, "dtype": dtype, "prompt": prompt}
    _claim(workspace, start, labeler_models, films, watched, seed=seed, threads=threads, **said)
    beginning = folder.load(start, dtype=dtype)
    policy, curve = optimise(
        beginning,
        prompt_dataset(*(films[name].tolist() for name in ("images", "report", "sample_id")), prompt),
        **_parts(arm, beginning, films, watched, settings, prompt, labeler, labeler_models),
        settings=settings,
        seed=seed,
        workspace=workspace,
        report=step_report,
        arm=arm,
    )
    return writing(policy, workspace), pd.DataFrame(curve)


def _claim(
    workspace: Path,
    start: Path,
    labeler_models: Path,
    films: pd.DataFrame,
    watched: pd.DataFrame,
    **settings: Any,
) -> None:
    """Keep the workspace for the work that policy, labeler, films and settings name, and for no other."""
    from radrl.storage.workspaces import claim, digest_rows, fingerprint

    tables = {"films": digest_rows(films), "watched": digest_rows(watched)}
    claim(workspace, fingerprint(settings | tables, start, labeler_models))


def _parts(
    arm: dict[str, Any],
    beginning: Policy,
    films: pd.DataFrame,
    watched: pd.DataFrame,
    settings: dict[str, Any],
    prompt: str,
    labeler: dict[str, Any],
    labeler_models: Path,
) -> dict[str, Any]:
    """What the arm is trained with, as `optimise` takes it: reward, credit, oracle and watched films."""
    from radrl.credit.build import build as build_credit
    from radrl.labelers.build import build as build_labeler
    from radrl.rewards.build import build as build_reward
    from radrl.training.reinforcement.oracle import Oracle
    from radrl.training.watching.watch import build as build_watch

    # one object a labeler, so that credit and reward share what it has read
    reader = cache(lambda name: build_labeler(labeler, labeler_models, name=name))
    own, tokenizer = reader(labeler["name"]), beginning.processor.tokenizer
    form, oracle = arm.get("output", "plain"), arm.get("oracle", "none")
    return {
        "reward": build_reward(arm["reward"], own, references=films["report"].tolist(), output=form),
        "credit": build_credit(arm.get("credit", "uniform"), tokenizer, reader),
        "oracle": None if oracle == "none" else Oracle(tokenizer, **oracle),
        "watch": build_watch(watched, settings, prompt=prompt, labeler=own, form=form),
    }
