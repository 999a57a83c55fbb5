"""transformers' trainers on the device that params.yaml names.

Left alone they take any accelerator they see, and where one process runs all of a machine's GPUs by
DataParallel, which would multiply the batch.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from transformers import TrainingArguments

from radrl.process.devices import DeviceError

CPU: Final = torch.device("cpu")


def arguments(device: torch.device) -> dict[str, Any]:
    """What a trainer's arguments say of a device.

    Args:
        device: of `radrl.process.devices.place`.
    """
    return {
        "use_cpu": device.type == "cpu",
        "dataloader_pin_memory": device.type == "cuda",
        # a policy's are constants, and written anew between two forwards they void the first one's graph
        "ddp_broadcast_buffers": False,
    }


def hold(made: TrainingArguments, device: torch.device) -> None:
    """Hold a trainer to its device: one for each process, and the one that was asked for.

    Args:
        made: a trainer's arguments, before the trainer is made.
        device: of `radrl.process.devices.place`.

    Raises:
        DeviceError: when the trainer would compute elsewhere.
    """
    there = made.device  # accelerate places it, by LOCAL_RANK where a launcher sets one
    if (there.type, there.index or 0) != (device.type, device.index or 0):
        raise DeviceError(
            f"device is {device}, but training would run on {there}; show the process that one alone "
            f"(such as CUDA_VISIBLE_DEVICES={device.index or 0}) and set device to {device.type}"
        )
    made._n_gpu = min(made.n_gpu, 1)
