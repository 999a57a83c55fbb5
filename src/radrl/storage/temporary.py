"""Folders of the system's temporary folder, which the next process removes when a kill has left them."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from radrl.storage.locks import abandoned

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
