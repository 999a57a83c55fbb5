"""How a pool of processes starts and ends."""

from __future__ import annotations

import multiprocessing
import os
import threading


def context() -> multiprocessing.context.BaseContext:
    """The way in which a pool starts its processes.

    No fork of a process with threads; the fork server imports once what the others then share.
    """
    methods = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")


def end_with_parent() -> None:
    """Let this process not outlive a killed parent: a pool's own would wait for work forever."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
