"""Packages that cannot live in radrl's environment: their worker scripts, run by another interpreter."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from radrl.process.isolated.talk import SCRIPTS, Reply, Talk, WorkerError, interpreter
from radrl.process.isolated.talk import SILENCE as SILENCE
from radrl.scoring import ScoringError
from radrl.storage.digests import sha256

WORKERS: Final = SCRIPTS
MEND: Final = "`make scorers` makes the environments of packages that cannot live in this one"


@dataclass(frozen=True, eq=False)
class _Kept:
    """A started worker, and who may ask it at a time."""

    talk: Talk
    lock: threading.Lock = field(default_factory=threading.Lock)


_Key = tuple[Path, Path, Path | None, tuple[tuple[str, str], ...]]
"""Interpreter, script, working folder and variables: whoever agrees in these shares a process."""


class _Keeping:
    """The workers of all blocks of `kept` that are open."""

    def __init__(self) -> None:
        self.blocks, self.lock = 0, threading.Lock()
        self.workers: dict[_Key, _Kept] = {}


_KEEPING: Final = _Keeping()


@contextmanager
def kept() -> Iterator[None]:
    """A block in which a worker's process outlives its requests, and with it the model that it has loaded.

    Who asks the same script in the same way shares the process, in blocks that overlap too; it takes one
    request at a time. Processes end with the last block. The system ends a process with the thread that
    started it, so that the first request is for a thread that lasts as long as the block.
    """
    with _KEEPING.lock:
        _KEEPING.blocks += 1
    try:
        yield
    finally:
        with _KEEPING.lock:
            _KEEPING.blocks -= 1
            ended = [] if _KEEPING.blocks else [*_KEEPING.workers.values()]
            if ended:
                _KEEPING.workers.clear()
        for one in ended:
            one.talk.__exit__(None, None, None)


class Worker:
    """A worker script and the interpreter that runs it; a process lasts for a request, or a block of `kept`.

    Args:
        script: the file.
        name: of the family of metrics, for messages.
        python: interpreter of the environment with the package; the running one when nothing.
        timeout: seconds of silence after which the worker counts as hung.
        folder: its working folder, where a model that a package knows by a hub's name is found by that name.
        variables: of its environment, besides the user's own and the offline switches.

    Raises:
        ScoringError: there is no such interpreter.
    """

    def __init__(
        self,
        script: Path,
        *,
        name: str,
        python: Path | None,
        timeout: float = SILENCE,
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        try:
            self.python = interpreter(python, name, MEND)
        except WorkerError as error:
            raise ScoringError(str(error)) from error
        self.name, self.timeout = name, timeout
        self._script, self._folder, self._variables = script, folder, dict(variables or {})

    def ask(self, request: Mapping[str, Any], items: int, unit: str) -> Reply:
        """Run the worker over one request.

        Args:
            request: what the script takes, as JSON.
            items: how many answers there must be.
            unit: what an item is, for the progress bar.

        Returns:
            The answers, all of them.

        Raises:
            ScoringError: the worker fails (`radrl.process.isolated.talk.Talk.ask`).
        """
        try:
            if _KEEPING.blocks:
                return self._ask_kept(request, items)
            with (
                self._started() as talk,
                tqdm(total=items, desc=self.name, unit=f" {unit}", mininterval=1) as bar,
            ):
                return talk.ask(request, items, bar=bar)
        except WorkerError as error:
            raise ScoringError(str(error)) from error

    def _started(self) -> Talk:
        return Talk(
            self.python,
            self._script,
            name=self.name,
            timeout=self.timeout,
            folder=self._folder,
            variables=self._variables,
        )

    def _ask_kept(self, request: Mapping[str, Any], items: int) -> Reply:
        key = (self.python, self._script, self._folder, tuple(sorted(self._variables.items())))
        with _KEEPING.lock:
            if key not in _KEEPING.workers:
                _KEEPING.workers[key] = _Kept(self._started().__enter__())
            own = _KEEPING.workers[key]
        with own.lock:
            return own.talk.ask(request, items)


def digest_of(files: Iterable[Path]) -> str:
    """One SHA-256 over the names and bytes of several files.

    Args:
        files: in an order that is the same everywhere.

    Returns:
        A hexadecimal digest.
    """
    digest = ""
    for file in files:
        digest = sha256(file, seed=f"{digest}{file.name}".encode())
    return digest
