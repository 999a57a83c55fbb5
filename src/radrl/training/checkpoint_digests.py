"""Seals: what a checkpoint held when it was written, so that one cut short or altered since is recognised."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, Final

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from radrl.storage import json_files
from radrl.storage.whole_files import whole_file

SEAL: Final = "seal.json"
"""In a checkpoint, written last: size and CRC-32 of each of its files."""

_PART: Final = 1 << 20


class Seals(TrainerCallback):
    """Seals each checkpoint, once every process has written its part."""

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Called by the trainer, in each process, after a checkpoint."""
        if torch.distributed.is_initialized():
            torch.distributed.barrier()
        if state.is_world_process_zero:
            assert args.output_dir is not None
            seal(Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}")


def seal(checkpoint: Path) -> None:
    """Write down what a checkpoint holds.

    Args:
        checkpoint: its folder, finished.
    """
    with whole_file(checkpoint / SEAL) as stream:
        stream.write(json.dumps(_held(checkpoint), indent=1, sort_keys=True).encode())


def is_sealed(checkpoint: Path) -> bool:
    """Whether a checkpoint was written to its end.

    Args:
        checkpoint: its folder.
    """
    return (checkpoint / SEAL).is_file()


def altered(checkpoint: Path) -> list[str]:
    """Files that are not what they were when the checkpoint was sealed.

    Args:
        checkpoint: its folder, sealed.

    Returns:
        Their names, also of those that are gone; the seal's own when it cannot be read. New ones do not
        count: `radrl.training.resume` puts the generators' state there under another name.
    """
    try:
        sealed = json_files.read(checkpoint / SEAL)
    except json_files.NoJson:
        return [SEAL]
    if not isinstance(sealed, dict):
        return [SEAL]
    held = _held(checkpoint)
    return sorted(name for name, own in sealed.items() if held.get(name) != own)


def _held(checkpoint: Path) -> dict[str, list[int]]:
    """Size and CRC-32 by file."""
    files = [path for path in checkpoint.rglob("*") if path.is_file() and path != checkpoint / SEAL]
    return {
        path.relative_to(checkpoint).as_posix(): [path.stat().st_size, _crc(path)]
        for path in files
        if not path.name.endswith(".partial")
    }


def _crc(path: Path) -> int:
    value = 0
    with path.open("rb") as stream:
        while part := stream.read(_PART):
            value = zlib.crc32(part, value)
    return value
