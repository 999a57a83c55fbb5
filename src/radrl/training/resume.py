"""Going on after a kill from the checkpoints of transformers' trainers."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import PeftModel
from torch.utils.data import Sampler

from radrl.policy import folder
from radrl.training.seals import altered, is_sealed

CHECKPOINT = "checkpoint-*"

_log = logging.getLogger(__name__)


def last_checkpoint(workspace: Path) -> Path | None:
    """The newest checkpoint that was written to its end and is what was written, or nothing.

    One that was cut short is passed over in silence, as a kill leaves it; one that was altered is named.
    """
    complete = [folder for folder in workspace.glob(CHECKPOINT) if is_sealed(folder)]
    for checkpoint in sorted(complete, key=lambda folder: -int(folder.name.rpartition("-")[2])):
        if not (files := altered(checkpoint)):
            return checkpoint
        _log.warning(
            "%s is passed over: %s is not what was written there (look at the disk); it goes on from the "
            "checkpoint before, or from its start",
            checkpoint,
            ", ".join(files),
        )
    return None


class RestoresWeights:
    """Mixin of a `transformers.Trainer` that gets the weights of its checkpoints back.

    `save_pretrained` writes Qwen2.5-VL under the names it was published with; `from_pretrained` turns them
    back, but the trainer reads the file as it is, finds no name it knows, and goes on with a warning from
    the weights it was started with.
    """

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        target = self.model if model is None else model  # type: ignore[attr-defined]
        if isinstance(target, PeftModel) or self.is_fsdp_enabled:  # type: ignore[attr-defined]
            # adapters and shards are written and read under the names they have in memory
            super()._load_from_checkpoint(resume_from_checkpoint, model)  # type: ignore[misc]
            return
        folder = resume_from_checkpoint
        # float32 holds every dtype's numbers; each weight is cast back to its own
        saved = type(target).from_pretrained(folder, dtype=torch.float32, local_files_only=True)
        target.load_state_dict(saved.state_dict())


class EpochOrder(Sampler[int]):
    """A sampler's order drawn anew for each epoch, from seed and epoch alone.

    The samplers of transformers and TRL draw all epochs from one generator, which a resumed run starts anew:
    in its second epoch it would see the order of the first.

    Args:
        sampler: draws from its attribute `generator`.
        seed: of all epochs.
        epoch: the one that begins.
    """

    def __init__(self, sampler: Any, *, seed: int, epoch: Callable[[], int]) -> None:
        self.sampler, self.seed, self.epoch = sampler, seed, epoch

    def __iter__(self) -> Iterator[int]:
        drawn = np.random.SeedSequence([self.seed, self.epoch()]).generate_state(1)[0]
        self.sampler.generator = torch.Generator().manual_seed(int(drawn))
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)


def writing(policy: folder.Policy, workspace: Path) -> Callable[[Path], None]:
    """What writes a finished policy and then clears the checkpoints it no longer needs.

    Args:
        policy: after training.
        workspace: its checkpoints.

    Returns:
        A writer for the policy's folder.
    """

    def write(target: Path) -> None:
        folder.save(policy, target)
        shutil.rmtree(workspace)

    return write
