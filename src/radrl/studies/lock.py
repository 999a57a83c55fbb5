"""One start of a study at a time: two would write the same clones, logs and page."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from radrl.studies.execution import StudyError


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a study's folder for this process; the system lets go of it however the process ends.

    Args:
        folder: where the study's clones lie; it is made where there is none.

    Raises:
        StudyError: when another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # a file, since a folder on NFS cannot be locked; beside the clones, which may be deleted
    with folder.with_name(f".{folder.name}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StudyError(
                f"already running: another `radrl study` works in {folder}; wait for it, or stop it first"
            ) from None
        yield
