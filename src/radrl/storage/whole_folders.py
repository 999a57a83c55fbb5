"""Folders that are there as a whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
