"""A writer whose process is killed while it writes."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from radrl.policy.hf_writer import HfWriter


class Dying(HfWriter):
    """Writes, until it finds a file that is called after the place of a batch's first sample."""

    fatal: Path

    def write(self, *given: Any, first: int = 0, **how: Any) -> Any:
        try:
            (self.fatal / str(first)).unlink()
        except FileNotFoundError:
            return super().write(*given, first=first, **how)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def open_dying(folder: Path, fatal: Path) -> Dying:
    writer = Dying.open(folder, dtype="float32", device="cpu", threads=1)
    writer.fatal = fatal
    return writer
