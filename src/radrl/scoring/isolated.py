"""Packages that cannot live in radrl's environment: their worker scripts, run by another interpreter.

The request goes to the worker's stdin and its answers come from its stdout, as JSON, so that no text is left
on disk. The worker runs with every offline switch on and refuses what would still reach the network. Weights
load without executing code.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

from tqdm import tqdm

from radrl.process.ending import end_with_parent
from radrl.process.offline import SWITCHES
from radrl.scoring.base import ScoringError
from radrl.storage.digests import sha256

WORKERS: Final = Path(__file__).parent / "workers"
SILENCE: Final = 1800.0
"""Seconds without an answer; a large model may take minutes to load and to read one report on a CPU."""

_KINDS: Final[dict[str, type[Any]]] = {
    "about": dict,
    "answer": list,
    "alive": str,
    "error": str,
    "done": bool,
}
_TAIL_LINES, _TAIL_WIDTH = 12, 300
_GRACE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a worker gave back.

    Args:
        about: what its answers depend on.
        answers: one an item, in the order of the request.
    """

    about: dict[str, str]
    answers: list[Any]


class Worker:
    """A worker script and the interpreter that runs it; a process lasts for one request.

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
        # not resolved: an environment's interpreter is a link, and finds its packages by the link's place
        self.python = Path(sys.executable) if python is None else python.absolute()
        if not os.access(self.python, os.X_OK) or self.python.is_dir():
            raise ScoringError(
                f"{name}: no interpreter at {self.python}. Mend: `make scorers` makes the environments of "
                "packages that cannot live in this one"
            )
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
            ScoringError: the worker says what is wrong, dies, is silent too long, prints something else than
                answers, or leaves one out; with the last lines of its stderr.
        """
        about: dict[str, str] = {}
        answers: dict[int, Any] = {}
        with (
            _Process(self._start(), request, self.name, self.timeout) as process,
            tqdm(total=items, desc=self.name, unit=f" {unit}", mininterval=1) as bar,
        ):
            for kind, value in process.messages():
                if kind == "error":
                    raise process.failure(value)
                if kind == "about":
                    about |= value
                elif kind == "alive":
                    bar.set_postfix_str(value)
                elif kind == "answer":
                    number, answers[number] = value
                    bar.update()
                else:
                    break
            else:
                raise process.failure(f"{process.end()} after {len(answers)} of {items} answers")
            if sorted(answers) != list(range(items)):
                raise process.failure(f"answered {len(answers)} of {items} items")
        return Reply(about, [answers[number] for number in range(items)])

    def _start(self) -> subprocess.Popen[bytes]:
        variables = os.environ | {name: switch.value for name, switch in SWITCHES.items()}
        variables |= {"TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1", "PYTHONIOENCODING": "utf-8"} | self._variables
        variables.pop("PYTHONHOME", None)  # of this interpreter; another would not find its own library
        try:
            return subprocess.Popen(
                [self.python, self._script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._folder,
                env=variables,
                start_new_session=True,  # a group of its own, which ends with it
                preexec_fn=partial(end_with_parent, os.getpid()),
            )
        except OSError as error:
            raise ScoringError(f"{self.name}: {self.python} does not start: {error}") from error


class _Process:
    """A started worker, for the time of a `with` block; nothing of it survives the block."""

    def __init__(
        self, process: subprocess.Popen[bytes], request: Mapping[str, Any], name: str, timeout: float
    ) -> None:
        self._process, self._name, self._timeout = process, name, timeout
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._ended = False
        # One thread a pipe: whoever waits on one of them stops both sides once another is full.
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (lambda: self._write(json.dumps(request).encode()), self._read, self._listen)
        ]

    def __enter__(self) -> _Process:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def messages(self) -> Iterator[tuple[str, Any]]:
        """Kind and value of every line, until the worker closes its side.

        Raises:
            ScoringError: silence, or a line that is no message.
        """
        while True:
            try:
                line = self._lines.get(timeout=self._timeout)
            except queue.Empty:
                raise self.failure(f"said nothing for {self._timeout:g} seconds, the timeout") from None
            if line is None:
                return
            message = _message(line)
            if message is None:
                raise self.failure(f"printed {line[:80]!r}, which is no message")
            yield message

    def end(self) -> str:
        """How the worker ended, once it has closed its side."""
        try:
            status = self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        if status >= 0:
            return f"ended with status {status}"
        hint = " (no memory left?)" if status == -signal.SIGKILL else ""
        return f"was killed by signal {-status}{hint}"

    def failure(self, what: str) -> ScoringError:
        """The error to raise, with the worker's last words; ends the worker."""
        self._end()
        said = "\n".join(self._tail)
        return ScoringError(
            f"{self._name}: the worker {what}" + (f"\nIts last words on stderr:\n{said}" if said else "")
        )

    def _end(self) -> None:
        if self._ended:
            return  # its number may be another's by now
        self._ended = True
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()  # the group is gone
        self._process.wait()
        for thread in self._threads:
            thread.join()

    def _write(self, request: bytes) -> None:
        stream = _opened(self._process.stdin)
        try:
            with stream:
                stream.write(request)
        except OSError:
            pass  # it ended before it had read all; its stdout tells

    def _read(self) -> None:
        with _opened(self._process.stdout) as stream:
            for line in stream:
                self._lines.put(line)
        self._lines.put(None)

    def _listen(self) -> None:
        with _opened(self._process.stderr) as stream:
            for line in stream:
                if text := line.decode(errors="replace").rstrip():
                    self._tail.append(text[:_TAIL_WIDTH])


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


def _message(line: bytes) -> tuple[str, Any] | None:
    """Kind and value of a line, or nothing when it is no message of `workers/channel.py`."""
    try:
        ((kind, value),) = json.loads(line).items()
    except (ValueError, AttributeError):
        return None
    if kind not in _KINDS or not isinstance(value, _KINDS[kind]):
        return None
    if kind == "answer" and not (len(value) == 2 and isinstance(value[0], int)):
        return None
    return kind, value


def _opened(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
