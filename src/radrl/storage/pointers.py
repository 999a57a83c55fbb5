"""Pointers to weights that stay where their owner put them: a file with their path and digests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from radrl.storage import json_files
from radrl.storage.digests import sha256

POINTER: Final = "pointer.json"


class PointerError(ValueError):
    """The weights that a pointer leads to are gone or have changed; the message names file and mend."""


def pointing(weights: Path, files: Iterable[Path]) -> Callable[[Path], None]:
    """Take the digests of weights as they are now.

    Args:
        weights: a folder, or a file; a relative path stays one, and the pointer is the same in every clone.
        files: what the digests are of, all in that folder or beside that file.

    Returns:
        What writes the pointer into an existing folder.
    """
    digests = {file.name: sha256(file) for file in files}
    path = str(weights.resolve()) if weights.is_absolute() else weights.as_posix()
    text = json.dumps({"path": path, "sha256": digests}, indent=2) + "\n"

    def write(folder: Path) -> None:
        (folder / POINTER).write_text(text)

    return write


def resolve(folder: Path, *, stage: str) -> Path:
    """Where weights are: in the folder itself, or where its pointer leads.

    Args:
        folder: holds weights or a pointer to them.
        stage: wrote the folder.

    Returns:
        The folder or file that holds them.

    Raises:
        PointerError: when a file that the pointer lists is gone, or has changed since.
    """
    weights = target(folder)
    pointer = folder / POINTER
    if weights == folder:
        return folder
    _, digests = _said(pointer)
    beside = weights if weights.is_dir() else weights.parent
    for name, digest in digests.items():
        if not (beside / name).is_file():
            raise PointerError(f"{beside / name} is gone; {pointer} points at it: put it back")
        if sha256(beside / name) != digest:
            raise PointerError(
                f"{beside / name} has changed since the stage {stage} saw it: run that stage again"
            )
    return weights


def target(folder: Path) -> Path:
    """Where weights are, whether or not they have changed: what a look at their configuration needs.

    Args:
        folder: holds weights or a pointer to them.

    Returns:
        The folder or file that holds them.

    Raises:
        PointerError: when what the pointer leads to is gone.
    """
    pointer = folder / POINTER
    if not pointer.is_file():
        return folder
    weights, _ = _said(pointer)
    # a relative path is of the project that the pointer lies in, wherever the process was started
    found = next((place / weights for place in pointer.absolute().parents if _exists(place / weights)), None)
    if found is None:
        raise PointerError(f"{weights} is gone; {pointer} points at it: put it back")
    return found


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no system takes
        return False


def _said(pointer: Path) -> tuple[Path, dict[str, str]]:
    """Where a pointer leads, and the digests that it lists."""
    mend = "run the stage that wrote it again"
    match json_files.read(pointer, PointerError, mend=mend):
        case {"path": str(path), "sha256": dict(digests)} if all(
            isinstance(one, str) for one in digests.values()
        ):
            return Path(path), digests
    raise PointerError(f"{pointer} is no pointer to weights; {mend}")
