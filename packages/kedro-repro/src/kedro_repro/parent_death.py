"""A process that ends when the one that started it does, or another, instead of running on unseen."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from collections.abc import Mapping
from functools import cache
from typing import Final

import psutil

STARTER: Final = "KEDRO_REPRO_STARTER"
"""The variable with the number of the process without which what a command runs is of no use."""

_PR_SET_PDEATHSIG: Final = 1
"""Linux's name for the signal that a process is sent when its parent ends (sys/prctl.h)."""


def end_with_parent(parent: int | None = None) -> None:
    """End this process as on a signal when its parent is killed; does nothing where there is no Linux.

    Args:
        parent: the number it should have; nothing for whatever it has now.
    """
    if _tell_of_parent(signal.SIGTERM) and parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)  # it was killed before


def outlive_parent() -> None:
    """Take `end_with_parent` back."""
    _tell_of_parent(0)


def end_with_starter(variables: Mapping[str, str]) -> None:
    """End this process as on a signal when the one that `STARTER` names has ended, parent or not.

    A stage's parent is DVC, which has to outlive its command, so as not to be cut off while it writes.

    Args:
        variables: of this process' environment; nothing happens where they name none.
    """
    if number := variables.get(STARTER):
        _watch(int(number))


@cache
def _watch(pid: int) -> None:
    """Look after a process once, however often it is asked for."""
    threading.Thread(target=_end_after, args=[pid], daemon=True).start()


def _end_after(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait()
    os.kill(os.getpid(), signal.SIGTERM)


def _tell_of_parent(number: int) -> bool:
    """Choose the signal of a parent's end, 0 for none; whether this system has such signals."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is None:
        return False
    prctl(_PR_SET_PDEATHSIG, number)
    return True
