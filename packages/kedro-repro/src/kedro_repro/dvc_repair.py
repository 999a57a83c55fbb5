"""What a kill or a bad disk leaves of the files that DVC keeps for itself, put right before DVC reads them.

DVC empties dvc.lock and then writes it anew, which takes a second or two for some forty stages, and keeps a
note of who reads and writes what in .dvc/tmp/rwlock in the same way. A kill in between leaves a part, and
from then on every command of DVC refuses. Nothing is lost by taking a part away: what a stage has made is in
DVC's cache with a note of what it was made from, by which DVC restores it. Such notes are written whole, but
in a folder each, and over one that a kill left empty DVC stumbles for good.

Nor does DVC look at the list of a folder's files in its cache: it restores by a broken one, and then writes
down what came of it as if it had been made. These lists are small, so all of them are looked at; the files
are when they are restored (`kedro_repro.restored_outputs`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import re
import time
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

import psutil
import yaml

from kedro_repro.params_values import load_yaml
from kedro_repro.stage_graph import cache_folder
from kedro_repro.whole_file import whole_file

LOCK: Final = Path("dvc.lock")
RWLOCK: Final = Path(".dvc/tmp/rwlock")
GUARD: Final = RWLOCK.with_name("rwlock.lock")
"""What a process of DVC locks while it writes `RWLOCK`."""

_STAGE: Final = re.compile(r"^  \S.*:$", re.MULTILINE)
"""The line with which a stage begins in dvc.lock."""
_MD5: Final = re.compile(r"[0-9a-f]{32}(\.dir)?")
_YOUNG: Final = 10.0
"""Seconds in which a folder of notes may be there and its note not yet."""


class BrokenLock(RuntimeError):
    """dvc.lock is broken in a way that no kill explains; the message names the mend."""


def mend(root: Path) -> list[str]:
    """Put right what a kill has cut off or a disk has lost; for whoever alone runs stages in the project.

    Args:
        root: the project's folder.

    Returns:
        A line for each file that was mended.

    Raises:
        BrokenLock: when dvc.lock is broken elsewhere than at its end.
    """
    cache = cache_folder(root)
    told = [*_mend_rwlock(root), *_mend_lock(root), *_mend_runs(cache / "runs")]
    return [*told, *_mend_lists(cache / "files" / "md5")]


def whole(text: str) -> bool:
    """Whether a dvc.lock was written to its end, as far as one can see.

    Example:
        >>> whole("schema: '2.0'"), whole("schema: '2.0'" + chr(10))
        (False, True)
    """
    try:
        read = load_yaml(text)
    except yaml.YAMLError:
        return False
    if not text.endswith("\n") or not isinstance(read, dict) or "schema" not in read:
        return False
    stages = read.get("stages", {})
    return isinstance(stages, dict) and all(map(_is_stage, stages.values()))


def _is_stage(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("cmd"), (str, list)):
        return False
    files = [entry.get(kind, []) for kind in ("deps", "outs")]
    return all(isinstance(own, list) and all(map(_is_file, own)) for own in files)


def _is_file(entry: Any) -> bool:
    """Whether an entry names a path, and a digest where its kind has one."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("path"), str):
        return False
    return entry.get("hash") != "md5" or bool(_MD5.fullmatch(str(entry.get("md5"))))


def _mend_lock(root: Path) -> list[str]:
    file = root / LOCK
    if not file.is_file() or whole(text := file.read_text(encoding="utf-8", errors="replace")):
        return []
    begins = [found.start() for found in _STAGE.finditer(text)]
    kept = text[: begins[-1]] if begins else ""
    if len(begins) > 1 and not whole(kept):
        raise BrokenLock(
            f"{LOCK} is broken, and not only at its end, as a kill would leave it: {_why(kept)}. Mend it, or "
            f"take the committed one back by `git checkout {LOCK}`: what other stages have made is in DVC's "
            "cache and is restored"
        )
    if len(begins) > 1:
        with whole_file(file) as stream:
            stream.write(kept.encode())
    else:
        file.unlink()
    return [
        f"{LOCK} was cut off, as by a kill while DVC wrote it: {max(0, len(begins) - 1)} of its stages are "
        "kept, what the others made is restored from DVC's cache"
    ]


def _why(text: str) -> str:
    try:
        yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark
        return f"{error.problem} in line {place.line + 1}" if place else str(error.problem)
    except yaml.YAMLError as error:
        return str(error)
    return "a stage lacks its command, or a file its digest"


def _mend_rwlock(root: Path) -> list[str]:
    """Remove a note that cannot be read, or that is of processes whose numbers others have by now."""
    file = root / RWLOCK
    if not file.is_file():
        return []
    with (root / GUARD).open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # held for the moment in which a process of DVC writes
        try:
            noted = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            file.unlink()
            return [f"{RWLOCK} was cut off, as by a kill while DVC wrote it, and is removed: nobody uses it"]
        processes = [*noted.get("write", {}).values(), *chain(*noted.get("read", {}).values())]
        if processes and not any(_wrote(one["pid"], file.stat().st_mtime) for one in processes):
            file.unlink()  # DVC would take who has these numbers now for them
    return []


def _wrote(pid: int, at: float) -> bool:
    """Whether a process that runs had begun at a time."""
    try:
        return bool(psutil.Process(pid).create_time() <= at)
    except psutil.NoSuchProcess:
        return False


def _mend_runs(runs: Path) -> list[str]:
    """Remove folders of notes that hold none."""
    removed = 0
    for folder in runs.glob("*/*"):
        with contextlib.suppress(OSError):  # it has notes, or somebody else was faster
            if time.time() - folder.stat().st_mtime > _YOUNG:
                folder.rmdir()
                removed += 1
    if not removed:
        return []
    return [f"empty folders, as kills leave them, are removed from {runs}: {removed}"]


def _mend_lists(objects: Path) -> list[str]:
    """Remove lists that are not what their names say; what they listed is then made anew."""
    broken = [path for path in objects.glob("??/*.dir") if not _is_itself(path)]
    for path in broken:
        path.unlink(missing_ok=True)
    return [
        f"{path} was not what its name says (look at the disk) and is removed: what it listed is made anew"
        for path in broken
    ]


def _is_itself(path: Path) -> bool:
    digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    return f"{digest}.dir" == path.parent.name + path.name
