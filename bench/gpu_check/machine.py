"""The card, the fastest product it is measured to make, and the bandwidth of its memory."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

import psutil
import torch

from gpu_check.parts import Keep
from gpu_check.setup import Setup
from radrl.plan import calibration


def measure(setup: Setup, keep: Keep) -> None:
    """Name, memory, matrix peak in TFLOP/s, bandwidth in TB/s."""
    found = {"card": card(setup), "memory_gib": memory_gib(setup), **versions()}
    keep(found)
    seconds = 1.0 if setup.twin else 10.0
    found["peak_tflops"] = matrix_peak(setup.device, seconds) / 1e12
    keep(found)
    found["bandwidth_tbs"] = calibration.bandwidth(setup.device, seconds) / 1e12
    keep(found)


def matrix_peak(device: torch.device, seconds: float) -> float:
    """Operations a second of the fastest of some square products, bfloat16 on an accelerator."""
    dtype, sizes = (torch.float32, (512, 1024)) if device.type == "cpu" else (torch.bfloat16, (4096, 8192))
    found = []
    for size in sizes:
        one, other = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
        product = torch.empty_like(one)

        def work(pair: tuple[Any, ...] = (one, other), out: Any = product) -> None:
            for _ in range(10):
                torch.mm(*pair, out=out)

        found.append(10 * 2 * size**3 / calibration.timed(work, device, seconds / len(sizes)))
    return max(found)


def card(setup: Setup) -> str:
    """What computes."""
    if setup.twin:
        return f"one thread of a {platform.machine()} CPU ({os.cpu_count()} cores)"
    return torch.cuda.get_device_name()


def memory_gib(setup: Setup) -> float:
    """What there is of it."""
    if setup.twin:
        return float(psutil.virtual_memory().total) / 2**30
    return float(torch.cuda.get_device_properties(0).total_memory) / 2**30


def versions() -> dict[str, str]:
    """Of what the figures depend on."""
    own = {name: version(name) for name in ("torch", "transformers", "trl")}
    return {**own, "python": platform.python_version(), "cuda": torch.version.cuda or "none"}
