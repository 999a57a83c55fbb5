"""Folders of work in progress that outlive a kill, and are used again only for the same work."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from radrl.storage.digests import sha256

FINGERPRINT = "fingerprint"


def fingerprint(settings: Mapping[str, Any], *inputs: Path) -> str:
    """Name the work: its settings and the bytes of the files it starts from.

    Args:
        settings: anything JSON can hold.
        inputs: files, or folders whose files all count.

    Returns:
        A hexadecimal digest.
    """
    work = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()
    for path in inputs:
        work = sha256(path, seed=work.encode())
    return work


def claim(workspace: Path, work: str) -> None:
    """Make the workspace this work's own: what another work left in it is removed.

    Args:
        workspace: a folder that outlives a kill and is no output of a stage.
        work: from `fingerprint`.
    """
    stamp = workspace / FINGERPRINT
    if stamp.is_file() and stamp.read_bytes() == work.encode():
        return
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(parents=True)
    stamp.write_text(work)
