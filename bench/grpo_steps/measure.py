"""A cell of the table, each time in a process of its own: its peak of memory is nobody else's.

On the CPU the processes are forks, so that libraries are imported once; an accelerator wants fresh ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import torch
from datasets import Dataset
from transformers import PrinterCallback
from transformers.training_args import OptimizerNames
from transformers.utils import logging

from grpo_steps import policies, scripts, ways
from radrl.policy.processor import FilmProcessor
from radrl.process import offline
from radrl.process.runtime import pin
from radrl.rewards.base import RewardSum
from radrl.training import batches, device_placement, tuning
from radrl.training.reinforcement.grpo import _arguments


class Cell(NamedTuple):
    """A row of the table.

    Args:
        size: of the films, in pixels.
        group: rollouts of a film.
        tokens: of a report in the median, its end included.
    """

    size: int
    group: int
    tokens: int


@dataclass(frozen=True)
class Job:
    """What all ways of a cell are given.

    Args:
        cell: which.
        start: folder of the policy.
        prompts: the films.
        scripts: what rollouts say, by step and row.
        reward: scores them.
        settings: the keys of `radrl.params.training.Training`.
        device: where.
        dtype: of weights that do not train.
        optimizer: transformers' name of another AdamW than the settings ask for; nothing for theirs.
    """

    cell: Cell
    start: Path
    prompts: Dataset
    scripts: list[list[list[int]]]
    reward: RewardSum
    settings: Mapping[str, Any]
    device: str = "cpu"
    dtype: str = "float32"
    optimizer: str | None = None


def settings_of(cell: Cell, training: Mapping[str, Any], *, films: int, steps: int) -> dict[str, Any]:
    """The settings of an arm at a cell's group and lengths."""
    own = {"rollouts": cell.group, "prompts_per_step": films, "steps": steps, "epochs": None}
    return {**training, **own, "checkpoint_every": steps + 1}


def in_a_process(way: str, job: Job) -> dict[str, Any]:
    """What `train` finds, in a process of its own; of a CPU's cells alone, whose processes are forks.

    Raises:
        RuntimeError: when that process ends without a word.
    """
    found: dict[str, Any] = apart(job.device, train, way, job)
    return found


def made_in_a_process(way: str, device: str, make: Callable[..., Job], *given: Any) -> dict[str, Any]:
    """As `in_a_process`, of a job that is made there: its rows and rewards cannot be handed over.

    Args:
        way: a key of `ways.WAYS`.
        device: where.
        make: of a module.
        *given: what it is called with.
    """
    found: dict[str, Any] = apart(device, _made, way, make, given)
    return found


def _made(way: str, make: Callable[..., Job], given: Sequence[Any]) -> dict[str, Any]:
    return train(way, make(*given))


def build(shape: Mapping[str, Any], texts: Sequence[str], start: Path, *, device: str, dtype: str) -> None:
    """Write a policy of random weights, in a process of its own: it leaves nothing on an accelerator.

    Args:
        shape: of `policies.REAL`.
        texts: its tokenizer is trained on.
        start: a folder to be.
        device: where its weights are drawn.
        dtype: of them.
    """
    apart(device, _build, shape, texts, start, device, dtype)


def _build(shape: Mapping[str, Any], texts: Sequence[str], start: Path, device: str, dtype: str) -> None:
    policies.save(policies.real(shape, texts, device=device, dtype=dtype), start)


def parts(settings: Mapping[str, Any]) -> batches.Parts:
    """How training cuts a step's rollouts."""
    return batches.of_rollouts(settings)


def apart(device: str, work: Callable[..., Any], *given: Any) -> Any:
    """What a function gives back in a process of its own; on an accelerator pickle must know both.

    Raises:
        RuntimeError: when that process ends without a word.
    """
    context: Any = get_context("fork" if device == "cpu" else "spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, device, work, given))
    process.start()
    theirs.close()
    try:
        found = ours.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"{work.__name__}{given[:1]}: its process ended with {process.exitcode}") from None
    process.join()
    return found


def _send(pipe: Connection, device: str, work: Callable[..., Any], given: Sequence[Any]) -> None:
    offline.apply()
    pin(1, torch.device(device))
    pipe.send(work(*given))


def train(way: str, job: Job) -> dict[str, Any]:
    """Take a cell's steps in one of the ways.

    Args:
        way: a key of `ways.WAYS`.
        job: the cell.

    Returns:
        seconds of each step but the first by part; memory in bytes that training added to the process at its
        peak, on an accelerator all that was allocated; the curve of loss, gradient norm, KL and reward.
    """
    device = torch.device(job.device)
    logging.disable_progress_bar()
    processor = FilmProcessor if way == "shared" else policies.EveryRow
    policy = policies.load(job.start, job.cell.size, processor)
    lora = job.settings["tunes"] == "lora"
    tuning.freeze(policy.model, job.settings["tunes"], job.dtype)
    play = scripts.Play(job.scripts, policy.processor.tokenizer.pad_token_id)
    with tempfile.TemporaryDirectory() as workspace, play.directing():
        arguments = _arguments(job.settings, job.reward, 0, Path(workspace), device, job.dtype)
        arguments.disable_tqdm = True
        if job.optimizer is not None:
            arguments.optim = OptimizerNames(job.optimizer)
        device_placement.hold(arguments, device)
        trainer: Any = ways.make(
            way,
            play,
            job.reward,
            job.settings,
            arguments,
            model=policy.model,
            train_dataset=job.prompts,
            processing_class=policy.processor,
            peft_config=tuning.lora_config(job.settings["lora"], policy.model) if lora else None,
        )
        trainer.remove_callback(PrinterCallback)
        before = psutil.Process().memory_info().rss if device.type == "cpu" else 0
        trainer.train()
    return {
        "seconds": trainer.seconds,
        "memory": ways.peak(device) - before,
        "curve": ways.curve(trainer),
    }
