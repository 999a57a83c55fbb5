"""Where models compute and how: device, rank, threads, determinism and memory.

Devices are decided here alone, by params.yaml and the variables of torch's and accelerate's launchers.
Whoever has a model asks `place` and moves it there; what goes into a model follows the model's own device.
Threads, determinism and memory are set once, before the first tensor (`pin`).
"""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import torch


def processes() -> int:
    """How many processes work together; 1 where no launcher started this one (WORLD_SIZE)."""
    return int(os.environ.get("WORLD_SIZE", 1))


def rank() -> int:
    """This process' number among all that work together, from 0 (RANK)."""
    return int(os.environ.get("RANK", 0))


def local_rank() -> int:
    """This process' number among those on its machine, from 0 (LOCAL_RANK)."""
    return int(os.environ.get("LOCAL_RANK", 0))


ASKED: Final = "cpu, cuda, cuda:0 (or another number), xpu, mps, auto"
"""What can be asked for, in words."""

_FORM: Final = re.compile(r"cpu|auto|mps|(cuda|xpu)(:\d+)?")


class DeviceError(ValueError):
    """A device that is none, or that is not there; the message names its key and the mend."""


def check(asked: str) -> str:
    """Refuse what names no device; whether there is one of it, `place` knows.

    Args:
        asked: as params.yaml's `device`.

    Returns:
        The same.

    Raises:
        DeviceError: naming what can be asked for.
    """
    if not _FORM.fullmatch(asked):
        raise DeviceError(f"{asked!r} is no device; give one of {ASKED}")
    return asked


def place(asked: str) -> torch.device:
    """Where this process' models compute.

    Args:
        asked: as params.yaml's `device`. ``cuda`` and ``xpu`` without a number are the accelerator that the
            launcher's LOCAL_RANK names, the first without a launcher; ``auto`` is the machine's accelerator,
            or the CPU where there is none.

    Returns:
        The device, with its number where a machine may have several.

    Raises:
        DeviceError: when it is no device, is not there, or several processes would share one.
    """
    import torch

    there = torch.accelerator.current_accelerator(check_available=True)
    kind = None if there is None else there.type
    count = 0 if there is None else torch.accelerator.device_count()
    own = device_of_process(check(asked), kind, count, rank=local_rank(), processes=processes())
    return torch.device(own)


def device_of_process(asked: str, kind: str | None, count: int, *, rank: int = 0, processes: int = 1) -> str:
    """The name of the device that one of several processes computes on.

    Args:
        asked: as `place` takes it.
        kind: of this machine's accelerators, such as ``cuda``; nothing where it has none.
        count: of them that this process sees.
        rank: of the process, among those on its machine.
        processes: that work together.

    Raises:
        DeviceError: as `place`.

    Example:
        >>> named("cuda", "cuda", 8, rank=3, processes=8)
        'cuda:3'
    """
    if asked == "auto":
        asked = kind or "cpu"
    wanted, _, number = asked.partition(":")
    if wanted in ("cpu", "mps") and wanted in ("cpu", kind):
        return wanted
    if wanted != kind:
        has = f"its accelerator is {kind}" if kind else "torch finds no accelerator on it"
        raise DeviceError(
            f"device is {asked}, but this machine has none: {has}; set device to auto or cpu, or install the "
            f"build of torch for {wanted}"
        )
    if number and processes > 1:
        raise DeviceError(
            f"device is {asked}, which {processes} processes would share; set it to {wanted}, and each takes "
            "its own"
        )
    # some launchers show each process its own accelerator alone
    index = int(number) if number else rank if count > 1 else 0
    if index >= count:
        raise DeviceError(
            f"device is {asked}, for this process {wanted}:{index}, but there are {count} of it; name one of "
            "those, or start at most as many processes as there are"
        )
    return f"{wanted}:{index}"


def undisturbed(device: torch.device) -> AbstractContextManager[None]:
    """A block after which torch's generators, the CPU's and the device's own, are as before.

    Args:
        device: where the block draws.
    """
    import torch

    if device.type == "cpu":
        return torch.random.fork_rng(devices=[])
    return torch.random.fork_rng(devices=[device.index or 0], device_type=device.type)


M_TRIM_THRESHOLD: Final = -1
M_TOP_PAD: Final = -2
M_MMAP_THRESHOLD: Final = -3
"""glibc's names for the numbers `mallopt` takes (malloc.h)."""


def pin(threads: int, device: torch.device) -> None:
    """Fix what would otherwise follow the machine.

    The order in which floats are added depends on the number of threads, so it is a parameter. On the CPU,
    where the same inputs must give the same bytes, operations without a deterministic form raise; elsewhere
    no bytes are promised, and the fast forms are taken.

    Args:
        threads: of torch's operators.
        device: where models compute, of `radrl.process.devices.place`.
    """
    import torch

    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(device.type == "cpu")
    # that would also fill every tensor with NaN before it is written: 6 to 14 % of a step on small tensors
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    keep_memory()


def device_name(device: torch.device) -> str:
    """What computes, for a person: the accelerator's name, or the processor with the threads of torch."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type}, {torch.get_num_threads()} threads"


def keep_memory() -> None:
    """Let glibc keep the memory of freed tensors instead of giving it back to the system.

    By default each large tensor is mapped on its own and unmapped when it is freed, so every step pays for
    the same pages again. Does nothing where the C library is another one.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 1 << 30)
        mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
        mallopt(M_TOP_PAD, 1 << 28)
