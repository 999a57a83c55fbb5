"""What a disk refuses, and what mends it: errors that libraries word in their own ways."""

from __future__ import annotations

import errno
from typing import Final

_FULL: Final = "free some space (`du -sh data/* .dvc/cache` says what takes it)"
_LOCKED: Final = "give it back to yourself (`chown`, `chmod u+w`), or run as who owns it"

_MENDS: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: "free some of your quota (`quota -s` says how much it is)",
    errno.EFBIG: "raise the limit on the size of files (`ulimit -f`)",
    errno.EROFS: "make the file system writable, or work in a copy of the project elsewhere",
    errno.EACCES: _LOCKED,
    errno.EPERM: _LOCKED,
}
"""By the system's number of an error."""

_WORDS: Final = {
    "No space left on device": errno.ENOSPC,
    "database or disk is full": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "File too large": errno.EFBIG,
    "Read-only file system": errno.EROFS,
    "readonly database": errno.EROFS,
}
"""What errors of safetensors, pyarrow, torch and SQLite say, which have no number."""


def mend(error: BaseException) -> str:
    """What mends an error of the disk.

    Args:
        error: any.

    Returns:
        The mend in words; nothing where it is no such error.

    Example:
        >>> mend(OSError(errno.EROFS, "Read-only file system", "data/x"))
        'make the file system writable, or work in a copy of the project elsewhere'
        >>> mend(ValueError("x"))
        ''
    """
    if isinstance(error, OSError) and error.errno in _MENDS:
        return _MENDS[error.errno]
    return next((_MENDS[number] for words, number in _WORDS.items() if words in str(error)), "")
