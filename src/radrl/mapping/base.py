"""What is shared out: a function of a worker's state and a shard."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

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
