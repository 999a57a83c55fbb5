"""How a process computes: threads, determinism and memory, set once before the first tensor."""

from __future__ import annotations

import ctypes
from typing import Final

import torch

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
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(device.type == "cpu")
    # that would also fill every tensor with NaN before it is written: 6 to 14 % of a step on small tensors
    torch.utils.deterministic.fill_uninitialized_memory = False
    keep_memory()


def device_name(device: torch.device) -> str:
    """What computes, for a person: the accelerator's name, or the processor with the threads of torch."""
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
