"""How a process computes: threads and determinism, set once before the first tensor."""

from __future__ import annotations

import torch


def pin(threads: int) -> None:
    """Fix what would otherwise follow the machine.

    The order in which floats are added depends on the number of threads, so it is a parameter; operations
    without a deterministic form raise on the CPU, where the same inputs must give the same bytes.

    Args:
        threads: of torch's operators.
    """
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
