"""Processes that this one starts: how those of a pool start, and how none outlives who started it."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
from typing import Final


def context() -> multiprocessing.context.BaseContext:
    """The way in which a pool starts its processes.

    No fork of a process with threads; the fork server imports once what the others then share.
    """
    methods = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")


def end_with_pool() -> None:
    """Let this process of a pool not outlive a killed parent: it would wait for work forever."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


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
