"""Work in shards, done by the engine that params.yaml names: this process, several of this machine, or Ray.

A worker that dies breaks the standard library's pool. What is finished by then is kept; a new pool does the
rest.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from itertools import islice
from multiprocessing.util import Finalize
from typing import Any, Final, Generic, TypeVar

from tqdm import tqdm

from radrl.process import children

State = TypeVar("State")
Shard = TypeVar("Shard")
Result = TypeVar("Result")

MOST_DEATHS: Final = 3
"""Workers that may die over a shard before the work is given up."""


@dataclass(frozen=True, slots=True)
class Work(Generic[State, Shard, Result]):
    """Work that any number of workers do with the same results; it can be pickled, as its shards can.

    Args:
        name: for the progress bar and for messages.
        open: gives what a worker works with, such as a model, once for all of its shards.
        do: a shard's result: a function of state and shard alone, whatever was done before, since a shard
            is done again when its worker dies. What it writes is written beside its place and renamed.
    """

    name: str
    open: Callable[[], AbstractContextManager[State]]
    do: Callable[[State, Shard], Result]


class WorkerDied(RuntimeError):
    """Workers died over the same shard again and again; the message says why that mostly is, and the mend."""


class EngineMissing(RuntimeError):
    """The engine that params.yaml asks for is not installed; the message says what installs it."""


def died(work: Work[State, Shard, Result], *, engine: str) -> WorkerDied:
    """The error when a shard is given up.

    Args:
        work: whose shard it is.
        engine: what shared it out.
    """
    return WorkerDied(
        f"{work.name}: {MOST_DEATHS + 1} workers of the {engine} engine died one after another before a "
        "shard was done, killed from outside, most often for want of memory; set compute.workers lower, and "
        "run the stage again"
    )


_AHEAD: Final = 2
"""Shards a worker may be ahead of the slowest one that came before."""

_log = logging.getLogger(__name__)


def _here(work: Work[State, Shard, Result], shards: Iterable[Shard]) -> Generator[Result]:
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


def _pooled(
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
        radrl.mapping.engines.WorkerDied: when workers died over the same shard again and again.
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
    context = children.context()
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
    children.end_with_pool()
    _Worker.work = work
    if device != "cpu":  # as a launcher tells its processes apart (radrl.process.devices)
        os.environ |= {"LOCAL_RANK": str(numbers.get()), "WORLD_SIZE": str(workers)}


def _do(shard: Any) -> Any:
    if not _Worker.opened:  # here rather than at the start, where an error would be lost with the pool
        stack = ExitStack()
        _Worker.state = stack.enter_context(_Worker.work.open())
        _Worker.opened = True
        Finalize(None, stack.close, exitpriority=10)
    return _Worker.work.do(_Worker.state, shard)


def mapped(
    work: Work[State, Shard, Result],
    shards: Sequence[Shard],
    compute: Mapping[str, Any] | None = None,
    *,
    device: str = "cpu",
    done: int = 0,
    unit: str = "shards",
) -> Generator[Result]:
    """Do every shard once, whoever dies meanwhile.

    Args:
        work: what is done; the same results whatever the engine and the number of workers.
        shards: what it is done to, each small: where rows are rather than the rows.
        compute: the section `compute` of params.yaml; nothing for this process alone.
        device: where workers compute, as params.yaml's `device`; each takes an accelerator of its own.
        done: shards that an earlier run has finished, for the progress bar.
        unit: what a shard is, for the bar.

    Yields:
        Results in the order of the shards, as they are asked for; of those to come few are held.

    Raises:
        WorkerDied: when a shard's worker died again and again.
        EngineMissing: when Ray is asked for and not installed.
        Exception: what the work itself raises.
    """
    if not shards:
        return
    total = len(shards) + done
    with (
        closing(_results(work, shards, compute or {}, device)) as results,
        tqdm(total=total, initial=done, desc=work.name, unit=f" {unit}") as bar,
    ):
        for result in results:
            bar.update()
            yield result


def _results(
    work: Work[State, Shard, Result], shards: Sequence[Shard], compute: Mapping[str, Any], device: str
) -> Generator[Result]:
    workers = compute.get("workers", 1)
    if compute.get("engine", "local") == "ray":
        from radrl.mapping import on_ray

        return on_ray.mapped(work, shards, workers=workers, device=device)
    if workers == 1:
        return _here(work, shards)
    return _pooled(work, shards, workers=workers, device=device)
