"""What DVC restored, held against its digests.

DVC takes an object of its cache that nobody may write to for what its name says, and hashes neither it nor
what it copies from it. A disk that lost bytes would so give other outputs than dvc.lock says, in silence.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kedro_repro.dvc_repair import LOCK, BrokenLock, whole
from kedro_repro.params_values import load_yaml
from kedro_repro.stage_graph import cache_folder

_SAYS: Final = "is cached - skipping run, checking out outputs"
"""What DVC prints where it restores a stage."""
_UNCHANGED: Final = "didn't change, skipping"
"""What it prints where there was nothing to do."""
_PATIENCE: Final = 60.0
"""Seconds that another DVC may take to write dvc.lock."""


def was_restored(log: Path) -> bool:
    """Whether DVC restored a stage instead of running it.

    Args:
        log: what it printed.
    """
    return _printed(_SAYS, log)


def was_skipped(log: Path) -> bool:
    """Whether DVC found that a stage reads what it read before, and has what it made of it.

    Args:
        log: what it printed.
    """
    return _printed(_UNCHANGED, log)


def _printed(words: str, log: Path) -> bool:
    return words in log.read_text(encoding="utf-8", errors="replace")


def take_away_broken(root: Path, stage: str) -> str:
    """Hold a stage's outputs against dvc.lock; what is broken is removed, in DVC's cache too.

    Args:
        root: the project's folder.
        stage: one that DVC has just restored.

    Returns:
        What was broken, in words; nothing where all is well. With it removed, DVC runs the stage.
    """
    outs = [out for out in _entry(root, stage).get("outs", []) if out.get("hash") == "md5"]
    objects = cache_folder(root) / "files" / "md5"
    broken = [path for out in outs for path in _broken(root, out, objects)]
    if not broken:
        return ""
    for out in outs:
        path = root / out["path"]
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return (
        f"what DVC restored of {stage} was broken and is made anew: {', '.join(broken)}. An object of its "
        "cache is not what was put there: look at the disk"
    )


def _entry(root: Path, stage: str) -> Mapping[str, Any]:
    """A stage's entry in dvc.lock, which another DVC may be writing just now."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        text = (root / LOCK).read_text(encoding="utf-8")
        entries: dict[str, dict[str, Any]] = load_yaml(text).get("stages", {}) if whole(text) else {}
        if stage in entries:
            return entries[stage]
        time.sleep(0.1)
    raise BrokenLock(f"{LOCK} holds no entry of {stage}, which DVC has just restored; start again")


def _broken(root: Path, out: Mapping[str, Any], objects: Path) -> Iterator[str]:
    """Paths of an output that hold other bytes than were recorded; objects that do are removed."""
    own = root / out["path"]
    for path, digest in _files(own, out["md5"], objects):
        if path.is_file() and _md5(path) == digest:
            continue
        yield str(path.relative_to(root))
        kept = _object(objects, digest)
        if kept.is_file() and _md5(kept) != digest:
            kept.unlink()


def _files(own: Path, digest: str, objects: Path) -> Iterator[tuple[Path, str]]:
    """The files of an output with their digests."""
    if digest.endswith(".dir"):
        for entry in json.loads(_object(objects, digest).read_bytes()):
            yield own / entry["relpath"], entry["md5"]
    else:
        yield own, digest


def _object(objects: Path, digest: str) -> Path:
    return objects / digest[:2] / digest[2:]


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()
