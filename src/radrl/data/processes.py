"""A map over processes that keeps the order and holds little.

`Executor.map` reads its whole input first; Python 3.14 gives it `buffersize`, which does what this does.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Final, TypeVar

from radrl.process import pools

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
    pool = ProcessPoolExecutor(processes, mp_context=pools.context(), initializer=pools.end_with_parent)
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
