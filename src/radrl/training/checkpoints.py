"""Checkpoints of transformers' trainers: sealed when they are whole, and gone on from after a kill.

A seal says what a checkpoint held when it was written, so that one cut short or altered since is recognised.
"""

from __future__ import annotations

import json
import logging
import shutil
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from peft import PeftModel, get_peft_model_state_dict
from peft.utils import SAFETENSORS_WEIGHTS_NAME
from torch.utils.data import Sampler
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_pt_utils import safe_globals
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from radrl.policy import folder
from radrl.storage import complete_weights, json_files
from radrl.storage.whole_files import whole_file

CHECKPOINT = "checkpoint-*"
SEAL: Final = "seal.json"
"""In a checkpoint, written last: size and CRC-32 of each of its files."""

_PART: Final = 1 << 20
FIRST_ALONE: Final = "rng_state.pth"
FIRST_OF_SEVERAL: Final = "rng_state_0.pth"
"""transformers' names of the first process' generators, in a checkpoint."""

_AFTER_CPU: Final = 15
"""Where in torch's list of devices, by its numbers: plain CPUs have 10, CUDA 20."""

GO_ON: Final = "Delete the checkpoint: training goes on from the one before, or from its start"


class CheckpointError(RuntimeError):
    """A checkpoint that is wanted is not there or not what was written; the message names it and the mend."""


_log = logging.getLogger(__name__)


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
        count: resumption puts the generators' state there under another name.
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


def restore_best(trainer: Any, workspace: Path) -> None:
    """Take up the weights of a training's best look.

    Args:
        trainer: a `RestoresWeights` that has trained; its state names the best look, if there was any.
        workspace: its checkpoints.

    Raises:
        CheckpointError: when that look's checkpoint is gone or altered.
    """
    best = trainer.state.best_global_step
    if best in (None, trainer.state.global_step):
        return
    checkpoint = workspace / f"{PREFIX_CHECKPOINT_DIR}-{best}"
    if not is_sealed(checkpoint) or (files := altered(checkpoint)):
        lacks = ", ".join(files) if is_sealed(checkpoint) else SEAL
        raise CheckpointError(
            f"{checkpoint}, of the best look (training.watch.keep), is not what was written there ({lacks}): "
            f"delete {workspace} to train this arm from its start, or set training.watch.keep to last"
        )
    trainer._load_from_checkpoint(str(checkpoint), trainer.model)


@cache
def accept_indexed_cpu() -> None:
    """Let `torch.load` restore to the device `cpu:0`, for the rest of this process.

    Of two and more processes on CPUs, transformers 5.17 and some releases after it ask torch to restore the
    optimizer there, which torch refuses: it knows this device as `cpu`.
    """

    def deserialise(storage: torch.UntypedStorage, location: str) -> torch.UntypedStorage | None:
        return storage if location.startswith("cpu:") else None

    torch.serialization.register_package(_AFTER_CPU, lambda storage: None, deserialise)


class RestoresWeights:
    """Mixin of a `transformers.Trainer` that gets the weights of its checkpoints back.

    `save_pretrained` writes Qwen2.5-VL under the names it was published with; `from_pretrained` turns them
    back, but the trainer reads the file as it is, finds no name it knows, and goes on with a warning from
    the weights it was started with.
    """

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        target = self.model if model is None else model  # type: ignore[attr-defined]
        folder = Path(resume_from_checkpoint)
        if isinstance(target, PeftModel) or self.is_fsdp_enabled:  # type: ignore[attr-defined]
            if isinstance(target, PeftModel):
                check_adapters(target, folder)
            # adapters and shards are written and read under the names they have in memory
            super()._load_from_checkpoint(resume_from_checkpoint, model)  # type: ignore[misc]
            complete_weights.check_numbers(target, str(folder), mend=GO_ON)
            return
        # float32 holds every dtype's numbers; each weight is cast back to its own
        saved = complete_weights.load(type(target), folder, mend=GO_ON, dtype=torch.float32)
        target.load_state_dict(saved.state_dict())


def check_adapters(model: PeftModel, checkpoint: Path) -> None:
    """Refuse a checkpoint whose adapters are not a model's: PEFT would go on with those it began with.

    Args:
        model: with adapters, as they begin.
        checkpoint: its folder.

    Raises:
        WeightsError: naming file and tensors.
    """
    file = checkpoint / SAFETENSORS_WEIGHTS_NAME
    wanted = get_peft_model_state_dict(model)
    complete_weights.check_state(complete_weights.read(file, mend=GO_ON), wanted, file, mend=GO_ON)


class RestoresDraws:
    """Mixin of a `transformers.Trainer` that goes on drawing where its checkpoint stopped, alone or not.

    The first process' generator draws for all (`radrl.training.reinforcement.shares`). transformers keeps it
    under another name where one process trains alone, and does not look for that where several go on. The
    generators of the others are drawn from by the dropout of adapters alone.
    """

    def _load_rng_state(self, checkpoint: str | None) -> None:
        args = self.args  # type: ignore[attr-defined]
        if checkpoint is not None and args.process_index == 0:
            _name_first(Path(checkpoint), alone=args.world_size == 1)
        super()._load_rng_state(checkpoint)  # type: ignore[misc]


def _name_first(checkpoint: Path, *, alone: bool) -> None:
    """Keep the first process' generators under the name that one process, or one of several, looks for."""
    wanted, other = (FIRST_ALONE, FIRST_OF_SEVERAL) if alone else (FIRST_OF_SEVERAL, FIRST_ALONE)
    if (checkpoint / wanted).is_file() or not (checkpoint / other).is_file():
        return
    with safe_globals():
        states = torch.load(checkpoint / other, weights_only=True)
    if "cuda" in states:  # of one device, or a list of all that a process sees, its own first
        states["cuda"] = states["cuda"][0] if alone else [states["cuda"]]
    with whole_file(checkpoint / wanted) as stream:
        torch.save(states, stream)


def epoch_seed(seed: int, epoch: int) -> int:
    """What the order of one epoch's films is drawn by, from the seed of all."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0])


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
        self.sampler.generator = torch.Generator().manual_seed(epoch_seed(self.seed, self.epoch()))
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
