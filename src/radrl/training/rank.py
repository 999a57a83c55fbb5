"""What one of the processes that train together does.

The first one writes the steps into a file that the stage reads as it grows, and at the end the policy and its
curve. One that fails says why in a file of its own before the launcher ends the others.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch.distributed

from radrl.data import corpus as corpora
from radrl.policy import folder
from radrl.process.devices import rank
from radrl.storage.whole_files import replacing, whole_file
from radrl.training import launching
from radrl.training.callbacks import silent
from radrl.training.job import read
from radrl.training.reinforcement.arm import Arm
from radrl.training.watching.progress import observers


def run(file: Path) -> None:
    """Run a job as one of its processes.

    Args:
        file: of the job.
    """
    logging.basicConfig(format="%(message)s")
    logging.getLogger("radrl").setLevel(logging.WARNING if rank() else logging.INFO)
    work = file.parent
    try:
        job = read(file)
        pictures = partial(corpora.pictures, job.corpus)
        looks = observers(job.settings.arm, pictures) if isinstance(job, Arm) else []
        policy, curve = job.run(silent if rank() else _Steps(work / launching.STEPS), looks)
        if not rank():
            _keep(policy, curve, work / launching.TRAINED)
    except BaseException as error:
        if _lost_another(error):
            raise
        with whole_file(work / launching.failure_of(rank())) as stream:
            stream.write(json.dumps([type(error).__name__, str(error)]).encode())
        raise
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _lost_another(error: BaseException) -> bool:
    """Whether a process failed only because another one was gone; the other's reason is the one to tell."""
    return isinstance(error, torch.distributed.DistError) or "gloo/transport" in str(error)


class _Steps:
    """Writes each step's numbers as a line."""

    def __init__(self, file: Path) -> None:
        self._stream = file.open("a", encoding="utf-8")

    def __call__(self, step: int, metrics: Mapping[str, float]) -> None:
        self._stream.write(json.dumps([step, dict(metrics)]) + "\n")
        self._stream.flush()


def _keep(policy: folder.Policy, curve: list[dict[str, float]], target: Path) -> None:
    """Write policy and curve, whole or not at all."""
    with replacing(target) as unfinished:
        (unfinished / launching.POLICY).mkdir()
        folder.save(policy, unfinished / launching.POLICY)
        (unfinished / launching.CURVE).write_text(json.dumps(curve))
