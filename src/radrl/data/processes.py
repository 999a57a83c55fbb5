"""A map over processes that keeps the order and holds little.

`Executor.map` reads its whole input first; Python 3.14 gives it `buffersize`, which does what this does.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Final, TypeVar

In = TypeVar("In")
Out = TypeVar("Out")

_AHEAD: Final = 4
"""Batches a process may be ahead of the slowest one that came before."""


def available() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def mapped(work: Callable[[In], Out], items: Iterable[In], *, processes: int, batch: int) -> Iterator[Out]:
    """Map in order over processes.

    Args:
        work: picklable; its module is imported anew by each process.
        items: picklable; read as they are needed, at most a few batches a process ahead.
        processes: 1 works in this one.
        batch: items handed over at once.

    Yields:
        What `work` gives, in the order of items.

    Raises:
        RuntimeError: a process was killed from outside, most often for want of memory.
        Exception: what `work` raises.
    """
    if processes == 1:
        yield from map(work, items)
        return
    source = iter(items)
    pending: deque[Future[list[Out]]] = deque()
    pool = ProcessPoolExecutor(processes, mp_context=_context(), initializer=_end_with_parent)
    try:
        for part in iter(lambda: list(islice(source, batch)), []):
            pending.append(pool.submit(_each, work, part))
            if len(pending) >= _AHEAD * processes:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "a process was killed, most often for want of memory; set ingest.workers lower, and run again: "
            "what is finished is kept"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _each(work: Callable[[In], Out], items: list[In]) -> list[Out]:
    return [work(item) for item in items]


def _context() -> multiprocessing.context.BaseContext:
    # no fork of a process with threads; the fork server imports once what the others then share
    methods = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")


def _end_with_parent() -> None:
    """Let no process outlive a killed parent: the pool's own would wait for work forever."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
