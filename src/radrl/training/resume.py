"""Going on after a kill: checkpoints are used again only for the same work."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from peft import PeftModel
from torch.utils.data import Sampler

from radrl.digests import sha256
from radrl.policy import folder

CHECKPOINT = "checkpoint-*"
FINGERPRINT = "fingerprint"


def fingerprint(settings: Mapping[str, Any], *inputs: Path) -> str:
    """Name the work: its settings and the bytes of the files it starts from.

    Args:
        settings: anything JSON can hold.
        inputs: files, or folders whose files all count.

    Returns:
        A hexadecimal digest.
    """
    work = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()
    for path in inputs:
        work = sha256(path, seed=work.encode())
    return work


def digest_rows(frame: pd.DataFrame) -> str:
    """A digest of a table's contents, for a fingerprint: films may change and keep their ids.

    Args:
        frame: columns of texts, bytes or numbers.

    Returns:
        A hexadecimal digest.
    """
    rows = pd.util.hash_pandas_object(frame, index=False)
    return hashlib.sha256(rows.to_numpy().tobytes()).hexdigest()


def claim(workspace: Path, work: str) -> None:
    """Make the workspace this work's own: what another work left in it is removed.

    Args:
        workspace: a folder that outlives a kill and is no output of a stage.
        work: from `fingerprint`.
    """
    stamp = workspace / FINGERPRINT
    if stamp.is_file() and stamp.read_text() == work:
        return
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(parents=True)
    stamp.write_text(work)


def last_checkpoint(workspace: Path) -> Path | None:
    """The newest checkpoint that was written to its end, or nothing.

    transformers writes trainer_state.json last, so a checkpoint without a readable one was cut short.
    """
    complete = [folder for folder in workspace.glob(CHECKPOINT) if _readable(folder / "trainer_state.json")]
    return max(complete, key=lambda folder: int(folder.name.rpartition("-")[2]), default=None)


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
        saved = type(target).from_pretrained(folder, dtype=target.dtype, local_files_only=True)
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


def _readable(state: Path) -> bool:
    try:
        json.loads(state.read_text())
    except (OSError, json.JSONDecodeError):
        return False
    return True
