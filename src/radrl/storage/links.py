"""Files that are needed under two names."""

from __future__ import annotations

import shutil
from pathlib import Path


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
