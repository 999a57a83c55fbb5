"""Shards done by this process, or by several of this machine.

A worker that dies breaks the standard library's pool. What is finished by then is kept; a new pool does the
rest.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from multiprocessing.util import Finalize
from typing import Any, Final, Generic

from radrl.mapping.base import MOST_DEATHS, Result, Shard, State, Work, died
from radrl.process import pools

_AHEAD: Final = 2
"""Shards a worker may be ahead of the slowest one that came before."""

_log = logging.getLogger(__name__)


def here(work: Work[State, Shard, Result], shards: Iterable[Shard]) -> Generator[Result]:
    """Do shards in this process.

    Args:
        work: what is done.
        shards: what it is done to.

    Yields:
        Results, made as they are asked for.
    """
    with work.open() as state:
        for shard in shards:
            yield work.do(state, shard)


def mapped(
    work: Work[State, Shard, Result], shards: Sequence[Shard], *, workers: int, device: str
) -> Generator[Result]:
    """Do shards in processes of this machine.

    Args:
        work: what is done.
        shards: what it is done to.
        workers: processes; no more are started than there are shards.
        device: where they compute; of several accelerators each takes the one of its number.

    Yields:
        Results in order.

    Raises:
        radrl.mapping.base.WorkerDied: when workers died over the same shard again and again.
        Exception: what the work raises.
    """
    workers = min(workers, len(shards))
    source, asked = iter(shards), deque[_Asked[Shard, Result]]()
    pool, deaths = _pool(work, workers, device), 0
    try:
        while True:
            asked.extend(_Asked(shard) for shard in islice(source, _AHEAD * workers - len(asked)))
            if not asked:
                return
            try:
                for one in asked:
                    one.ask(pool)
                result = asked[0].result()
            except BrokenProcessPool as error:
                deaths += 1
                if deaths > MOST_DEATHS:
                    raise died(work, engine="local") from error
                _log.warning("%s: a worker was killed; its shard is done again", work.name)
                pool.shutdown()
                pool = _pool(work, workers, device)
                continue
            deaths = 0
            asked.popleft()
            yield result
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class _Asked(Generic[Shard, Result]):
    """A shard, and who was asked for its result."""

    shard: Shard
    future: Future[Result] | None = None

    def ask(self, pool: ProcessPoolExecutor) -> None:
        """Hand the shard to a pool, unless it is in hand or done."""
        if self.future is None or _lost(self.future):
            self.future = None  # a pool that is broken by now refuses
            self.future = pool.submit(_do, self.shard)

    def result(self) -> Result:
        assert self.future is not None
        return self.future.result()


def _lost(future: Future[Any]) -> bool:
    return future.done() and isinstance(future.exception(), BrokenProcessPool)


def _pool(work: Work[Any, Any, Any], workers: int, device: str) -> ProcessPoolExecutor:
    context = pools.context()
    # workers that come later, in the place of one that died too, need not import the libraries again
    context.set_forkserver_preload([work.do.__module__])
    numbers = context.SimpleQueue()
    for number in range(workers):
        numbers.put(number)
    return ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(work, numbers, workers, device)
    )


class _Worker:
    """What a worker's process keeps from shard to shard."""

    work: Work[Any, Any, Any]
    state: Any = None
    opened: bool = False


def _begin(work: Work[Any, Any, Any], numbers: Any, workers: int, device: str) -> None:
    pools.end_with_parent()
    _Worker.work = work
    if device != "cpu":  # as a launcher tells its processes apart (radrl.process.ranks)
        os.environ |= {"LOCAL_RANK": str(numbers.get()), "WORLD_SIZE": str(workers)}


def _do(shard: Any) -> Any:
    if not _Worker.opened:  # here rather than at the start, where an error would be lost with the pool
        stack = ExitStack()
        _Worker.state = stack.enter_context(_Worker.work.open())
        _Worker.opened = True
        Finalize(None, stack.close, exitpriority=10)
    return _Worker.work.do(_Worker.state, shard)
