"""One stage's entry of dvc.lock: read as DVC reads it, or taken out, with every other line left alone."""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil
from ruamel.yaml import YAML

LOCK_FILE: Final = Path("dvc.lock")
OWN: Final = Path(".dvc/tmp/lock")
"""What DVC locks while it reads the project, hashes and writes dvc.lock; not while a stage's command runs."""
USED: Final = Path(".dvc/tmp/rwlock")
"""DVC's note of the paths it reads and writes, from before a stage's command until outputs are hashed."""

_BEGIN: Final = re.compile(r"^  (\S.*):$", re.MULTILINE)
"""The line with which a stage begins."""


def load(text: str) -> Any:
    """What a YAML text says to DVC: by YAML 1.2, in which `1e-5` is a number."""
    return YAML(typ="safe").load(text)


def entries(text: str) -> Mapping[str, str]:
    """The lines of each stage of a dvc.lock that is whole.

    Args:
        text: all of it.

    Example:
        >>> [*entries(chr(10).join(["stages:", "  a:", "    cmd: x", "  b@c:", "    cmd: y"]))]
        ['a', 'b@c']
    """
    begins = list(_BEGIN.finditer(text))
    ends = [*(found.start() for found in begins[1:]), len(text)]
    return {found[1]: text[found.start() : end] for found, end in zip(begins, ends, strict=False)}


def entry(text: str, stage: str) -> Mapping[str, Any] | None:
    """What a dvc.lock says of a stage; nothing where it has no entry.

    Args:
        text: all of it.
        stage: its name as DVC has it.
    """
    own = entries(text).get(stage)
    return None if own is None else load(own)[stage]


def without(text: str, stage: str) -> str:
    """A dvc.lock without a stage's entry; empty where it had no other."""
    found = entries(text)
    return text.replace(found[stage], "", 1) if len(found) > 1 else ""


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """A block in which no DVC reads the project or writes dvc.lock; waits until none does.

    Args:
        root: the project's folder.
    """
    file = root / OWN
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def written_now(root: Path) -> set[str]:
    """Paths of outputs, from the root, whose stage runs now or has ended and is not hashed yet.

    Args:
        root: the project's folder, in a block of `held`: what is hashed by then stands in dvc.lock.
    """
    try:
        noted = json.loads((root / USED).read_text(encoding="utf-8")).get("write", {})
    except (FileNotFoundError, ValueError):  # cut off by a kill: nobody is at it
        return set()
    own = root.resolve()
    paths = [Path(path) for path, process in noted.items() if psutil.pid_exists(int(process["pid"]))]
    return {str(path.relative_to(own)) for path in paths if path.is_relative_to(own)}
