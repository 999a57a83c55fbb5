"""What a kill has left, told by locks that the system lets go of when their process ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final

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
