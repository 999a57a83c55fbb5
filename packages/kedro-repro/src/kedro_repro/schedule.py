"""Stages in an order that respects what they read, several at once.

Of the stages that may run, the one that most others wait for goes first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from typing import Final, Protocol

from kedro_repro.stage_graph import with_followers

_TICK: Final = 1.0
"""Seconds from one look at what runs to the next."""


class StageFailed(RuntimeError):
    """A stage failed; the message holds the end of its log and how to go on."""


class Runner(Protocol):
    """Runs a stage."""

    def __call__(self, stage: str) -> None:
        """Run it to its end.

        Raises:
            StageFailed: when it fails.
        """
        ...

    def stop(self) -> None:
        """End whatever runs."""
        ...


class Listener(Protocol):
    """Is told how it goes."""

    def running(self, times: Mapping[str, float]) -> None:
        """What runs, each for how many seconds."""
        ...

    def done(self, stage: str, seconds: float) -> None:
        """A stage ended well."""
        ...


def run_stages(
    graph: Mapping[str, Collection[str]],
    chosen: Collection[str],
    runner: Runner,
    listener: Listener,
    *,
    jobs: int,
) -> None:
    """Run stages, each once all that it reads is there.

    Args:
        graph: by stage, those before it.
        chosen: the stages to run; the others are up to date.
        runner: runs one.
        listener: is told what runs and what is done.
        jobs: how many at once, at most.

    Raises:
        StageFailed: of the first stage that fails; the others that run are ended.
    """
    waited_for = {stage: len(with_followers(graph, {stage})) for stage in chosen}
    order = TopologicalSorter({stage: set(graph[stage]) & set(chosen) for stage in chosen})
    order.prepare()
    ready: list[str] = []
    running: dict[Future[None], tuple[str, float]] = {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            while order.is_active():
                ready = sorted([*ready, *order.get_ready()], key=lambda stage: -waited_for[stage])
                while ready and len(running) < jobs:
                    stage = ready.pop(0)
                    running[pool.submit(runner, stage)] = (stage, time.monotonic())
                for stage, seconds in _ended(running, listener.running):
                    order.done(stage)
                    listener.done(stage, seconds)
        except BaseException:  # also on a signal: nothing is left running behind the terminal's back
            runner.stop()
            raise


def _ended(
    running: dict[Future[None], tuple[str, float]], tell: Callable[[Mapping[str, float]], None]
) -> list[tuple[str, float]]:
    """Wait until stages end, and take them out of those that run; their names and seconds."""
    over: set[Future[None]] = set()
    while not over:
        now = time.monotonic()
        tell({stage: now - began for stage, began in running.values()})
        over, _ = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
    for future in over:
        future.result()
    now = time.monotonic()
    return [(stage, now - began) for stage, began in map(running.pop, over)]
