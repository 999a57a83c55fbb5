"""What a process sets before it imports the libraries that stages need."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from pathlib import Path

from radrl.process import offline


def prepare() -> None:
    """Switch off hubs and telemetry, and what would make imports and threads slow."""
    offline.apply()
    # Importing makes objects by the hundred thousand that all live to the end; looking them over again and
    # again for garbage is a fifth of a stage's start.
    gc.set_threshold(50_000)
    # Threads that wait by spinning make torch many times slower as soon as another process wants the core;
    # the OpenMP runtime reads this once, when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def first(source: Path, variables: Mapping[str, str]) -> str:
    """PYTHONPATH by which the modules of a folder are found before all others.

    Args:
        source: the folder.
        variables: of the environment, with a PYTHONPATH or without.
    """
    return os.pathsep.join([str(source), *filter(None, [variables.get("PYTHONPATH")])])
