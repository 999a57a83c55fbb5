"""Files that are there as a whole or not at all."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import IO

from radrl.storage.locks import abandoned


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
