"""Files and folders that are there as a whole or not at all, and folders that go with their process.

What a kill has left of them the next process removes; of files and temporary folders, locks tell that their
process has ended.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import IO, Final

_YOUNG: Final = 10.0
"""Seconds in which a file may be there and its lock not yet."""


def abandoned(path: Path) -> bool:
    """Whether a file or folder that its process locks is left from one that was killed.

    Args:
        path: one that may be gone.

    Returns:
        False too where it is so young that the lock may still be to come, or of another user.
    """
    try:
        opened = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        found = os.fstat(opened)
        if found.st_uid != os.getuid() or time.time() - found.st_mtime < _YOUNG:
            return False
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(opened)
    return True


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file beside its place and move it there when the block ends well.

    Args:
        path: the file, replaced when it exists.

    Yields:
        The stream to write into. A block that fails leaves nothing; a kill leaves a hidden `.partial` file,
        which the next process to write the file removes.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    _sweep(path)


def _sweep(path: Path) -> None:
    """Remove what processes have left of a file when they were killed."""
    for partial in path.parent.glob(f".{escape(path.name)}.*.partial"):
        if abandoned(partial):
            partial.unlink(missing_ok=True)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give an empty folder that takes the target's place when the block ends well.

    Args:
        target: the folder to replace.

    Yields:
        The folder to write into, beside the target. A block that fails leaves nothing; a kill leaves a hidden
        `.partial` folder, which the next one to replace the target removes.
    """
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


PREFIX: Final = "radrl."
"""Of their names, which are short: a socket's path has 108 characters."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of this process for the time of a block.

    Yields:
        The folder, empty. A kill leaves it; the next process that wants one removes it.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if abandoned(left):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as made:
        folder = os.open(made, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield Path(made)
        finally:
            os.close(folder)


def link(file: str | Path, target: str | Path) -> None:
    """Give a file that nobody writes into a second name; copy it where the file system has no links.

    Args:
        file: as it is.
        target: its other name, on the same file system or another.
    """
    try:
        Path(target).hardlink_to(file)
    except OSError:  # another file system, or one without links
        shutil.copyfile(file, target)


def link_folder(folder: Path, target: Path) -> None:
    """Give all files of a folder a second name in another folder, which may be there.

    Args:
        folder: as it is.
        target: where the other names stand.
    """
    shutil.copytree(folder, target, dirs_exist_ok=True, copy_function=link)
