"""What a run ran on, and what it took: tags and numbers of the record."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from pathlib import Path
from typing import Final

import psutil

from kedro_repro import cpu_seconds

SECTION: Final = "usage"
"""Section of what a run took; by its name it comes after the numbers of a training."""

_MODELS: Final = Path("/proc/cpuinfo")


def hardware() -> dict[str, str]:
    """Tags that say what this process runs on.

    An accelerator is named where torch is in use; to ask one that no stage needs would take seconds.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = psutil.virtual_memory().total / 2**30
    return {
        "hardware.processor": _processor(),
        "hardware.cores": str(cores),
        "hardware.memory": f"{memory:.0f} GiB",
        "hardware.accelerator": _accelerator(),
    }


class Meter:
    """What the process takes while a run is open: seconds, and CPU seconds with those of ended children."""

    def __init__(self) -> None:
        self._time, self._cpu = 0.0, 0.0
        self.start()

    def start(self) -> None:
        """Go on counting."""
        self._time -= time.monotonic()
        self._cpu -= cpu_seconds.used()

    def stop(self) -> dict[str, float]:
        """Pause, and tell what it came to so far."""
        self._time += time.monotonic()
        self._cpu += cpu_seconds.used()
        return {f"{SECTION}/seconds": self._time, f"{SECTION}/cpu_seconds": self._cpu}


def peak() -> dict[str, float]:
    """The most memory that the process, and the accelerator it uses, have held so far; MB of 10^6 bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    most = {f"{SECTION}/peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6}
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        most[f"{SECTION}/peak_accelerator_mb"] = torch.cuda.max_memory_allocated() / 1e6
    return most


def _processor() -> str:
    """Its name; Linux tells it in a file alone."""
    if _MODELS.is_file():
        for line in _MODELS.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _accelerator() -> str:
    torch = sys.modules.get("torch")
    if not torch:
        return ""
    if torch.cuda.is_initialized():
        return str(torch.cuda.get_device_name())
    kind = torch.accelerator.current_accelerator(check_available=True)
    return "" if kind is None else str(kind.type)
