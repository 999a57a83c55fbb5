"""Where this process runs, as the comparison page tells it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from kedro_repro.tracking.git_identity import identity
from radrl.storage.origins import Origin
from radrl.wiring.machine import hardware

RELEASES: Final = ("radrl", "torch", "transformers", "trl", "numpy")
"""Packages whose release can change numbers."""

_DIGITS: Final = 10


def here(root: Path) -> Origin:
    """Where this process runs.

    Args:
        root: the project, whose commit is told; DVC's lock, which a run writes itself, is no change.
    """
    return Origin(_commit(root), _machine(hardware()), _releases())


def _commit(root: Path) -> str:
    try:
        known = identity(root)
    except FileNotFoundError:  # no git on PATH
        return ""
    commit = known["git.commit"][:_DIGITS]
    return f"{commit}+" if commit and known["git.dirty"] == "true" else commit


def _machine(known: dict[str, str]) -> str:
    cores = known["hardware.cores"]
    parts = [
        known["hardware.processor"],
        f"{cores} core{'' if cores == '1' else 's'}",
        known["hardware.memory"],
        known["hardware.accelerator"],
    ]
    return ", ".join(part for part in parts if part)


def _releases() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in RELEASES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
