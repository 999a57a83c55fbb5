"""Files that are there as a whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file beside its place and move it there when the block ends well.

    Args:
        path: the file, replaced when it exists; one process at a time writes it.

    Yields:
        The stream to write into. A block that fails leaves nothing; a kill leaves a hidden `.partial` file,
        which the next one to write the file replaces.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
