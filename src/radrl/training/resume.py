"""Going on after a kill: checkpoints are used again only for the same work."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from radrl.policy import folder

CHECKPOINT = "checkpoint-*"
FINGERPRINT = "fingerprint"


def fingerprint(settings: Mapping[str, Any], *inputs: Path) -> str:
    """Name the work: its settings and the bytes of the files it starts from.

    Args:
        settings: anything JSON can hold.
        inputs: files, or folders whose files all count.

    Returns:
        A hexadecimal digest.
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for path in inputs:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(file.name.encode())
                _digest_into(digest, file)
    return digest.hexdigest()


def _digest_into(digest: hashlib._Hash, file: Path) -> None:
    with file.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)


def claim(workspace: Path, work: str) -> None:
    """Make the workspace this work's own: what another work left in it is removed.

    Args:
        workspace: a folder that outlives a kill and is no output of a stage.
        work: from `fingerprint`.
    """
    stamp = workspace / FINGERPRINT
    if stamp.is_file() and stamp.read_text() == work:
        return
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(parents=True)
    stamp.write_text(work)


def last_checkpoint(workspace: Path) -> Path | None:
    """The newest checkpoint that was written to its end, or nothing.

    transformers writes trainer_state.json last, so a checkpoint without a readable one was cut short.
    """
    complete = [folder for folder in workspace.glob(CHECKPOINT) if _readable(folder / "trainer_state.json")]
    return max(complete, key=lambda folder: int(folder.name.rpartition("-")[2]), default=None)


def writing(policy: folder.Policy, workspace: Path) -> Callable[[Path], None]:
    """What writes a finished policy and then clears the checkpoints it no longer needs.

    Args:
        policy: after training.
        workspace: its checkpoints.

    Returns:
        A writer for the policy's folder.
    """

    def write(target: Path) -> None:
        folder.save(policy, target)
        shutil.rmtree(workspace)

    return write


def _readable(state: Path) -> bool:
    try:
        json.loads(state.read_text())
    except (OSError, json.JSONDecodeError):
        return False
    return True
