"""Work that tests share out: squares, in processes that can be told to die, and what was done of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from radrl.mapping.engines import Work

NAP = 0.02
"""Seconds of a shard, so that no worker does all."""
PATIENCE = 60.0
"""Seconds that a worker waits for the other one."""


@contextmanager
def opened(folder: Path) -> Iterator[Path]:
    """A state: a folder, in which each worker notes that it came and went."""
    (folder / f"opened-{os.getpid()}").touch()
    try:
        yield folder
    finally:
        (folder / f"closed-{os.getpid()}").touch()


def square(folder: Path, shard: int) -> int:
    """A shard's result; a line is written for each time that it was done."""
    time.sleep(NAP)
    with (folder / f"done-{shard}").open("a") as stream:
        stream.write(f"{os.getpid()}\n")
    return shard * shard


def square_or_die(folder: Path, shard: int) -> int:
    """The same; who is first to find a file called after the shard dies."""
    try:
        (folder / f"kill-{shard}").unlink()
    except FileNotFoundError:
        return square(folder, shard)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def die(folder: Path, shard: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def refuse(folder: Path, shard: int) -> int:
    raise LookupError(f"no shard {shard}")


@contextmanager
def unopened() -> Iterator[None]:
    raise LookupError("no model")
    yield


def rank(folder: Path, shard: int) -> tuple[str | None, str | None]:
    """What a launcher tells a process, told once both workers are there."""
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.glob("opened-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(NAP)
    return os.environ.get("LOCAL_RANK"), os.environ.get("WORLD_SIZE")


def work(folder: Path, do: object = square) -> Work[Path, int, int]:
    return Work("squares", partial(opened, folder), do)  # type: ignore[arg-type]


def times_done(folder: Path) -> dict[int, int]:
    """How often each shard was done to its end."""
    files = folder.glob("done-*")
    return {int(file.name.removeprefix("done-")): len(file.read_text().splitlines()) for file in files}
