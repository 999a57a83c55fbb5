"""Where a run comes from: the commit, what DVC says of itself, and the project whose record takes it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def record_root(project: Path) -> Path:
    """The folder whose record takes a project's runs."""
    # `dvc exp run --temp` and queued experiments run in a copy that is thrown away; DVC_ROOT is the real one
    return Path(os.environ.get("DVC_ROOT", project)).resolve()


def identity(root: Path) -> dict[str, str]:
    """Git commit and what DVC says of itself, so that a run can be found from the code and back.

    Args:
        root: a folder of the repository.

    Returns:
        Tags; those that are not known are empty.
    """
    # DVC itself writes the lock while stages run, and the comparison is one of them
    kept = [f":(exclude,glob){path}" for path in ("dvc.lock", "data/08_reporting/comparison/headline.json")]
    dirty = _git(root, "status", "--porcelain", "-uno", "--", ".", *kept)
    tags = {"git.commit": _git(root, "rev-parse", "HEAD"), "git.dirty": str(bool(dirty)).lower()}
    for name in ("DVC_STAGE", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV"):
        tags[name.lower().replace("_", ".", 1)] = os.environ.get(name, "")
    return tags


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip()
