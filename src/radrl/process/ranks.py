"""Which of several processes this one is, as torch's and accelerate's launchers say in the environment."""

from __future__ import annotations

import os


def processes() -> int:
    """How many processes work together; 1 where no launcher started this one (WORLD_SIZE)."""
    return int(os.environ.get("WORLD_SIZE", 1))


def rank() -> int:
    """This process' number among all that work together, from 0 (RANK)."""
    return int(os.environ.get("RANK", 0))


def local_rank() -> int:
    """This process' number among those on its machine, from 0 (LOCAL_RANK)."""
    return int(os.environ.get("LOCAL_RANK", 0))
