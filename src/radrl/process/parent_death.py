"""A process that ends when the one that started it does, instead of running on unseen."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
"""Linux's name for the signal that a process is sent when its parent ends (sys/prctl.h)."""


def end_with_parent(parent: int | None = None) -> None:
    """End this process as on a signal when its parent is killed; does nothing where there is no Linux.

    Args:
        parent: the number it should have; nothing for whatever it has now.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is None:
        return
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)  # it was killed before
