"""This machine: processor, memory, disk, accelerators."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from radrl.doctor.findings import Finding, size


def machine(root: Path) -> Iterator[Finding]:
    """What the machine has.

    Args:
        root: the project, on whose disk artifacts come to lie.
    """
    yield Finding("Python", f"{platform.python_version()}, {sys.executable}")
    yield Finding("system", platform.platform(terse=True))
    yield Finding("cores", f"{_cores()} for this process")
    memory = psutil.virtual_memory()
    yield Finding("memory", f"{size(memory.available)} free of {size(memory.total)}")
    disk = shutil.disk_usage(root)
    yield Finding("disk", f"{size(disk.free)} free of {size(disk.total)}, where the project lies")
    yield from _accelerators()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _accelerators() -> Iterator[Finding]:
    import torch

    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        costs = "policies of billions of weights: they load on a CPU and take months"
        yield Finding("accelerator", f"none that torch {torch.__version__} finds", "without", costs, _BUILD)
        return
    for number in range(torch.accelerator.device_count()):
        where = torch.device(kind.type, number)
        yield Finding(str(where), _named(where))


_BUILD = "where this machine has a card: `make env TORCH_INDEX=URL` takes the build of torch for it"


def _named(device: object) -> str:
    import torch

    if getattr(device, "type", None) != "cuda":
        return "there"
    own = torch.cuda.get_device_properties(device)  # type: ignore[arg-type]
    return f"{own.name}, {size(own.total_memory)}, compute capability {own.major}.{own.minor}"
