"""A worker script that another interpreter runs, and what is said to it and by it.

Requests go to its stdin and its messages come from its stdout, a line of JSON each, so that no text and no
film is left on disk. It runs with every offline switch on and refuses what would still reach the network
(`channel.py`, which it imports by its name). Weights load without executing code.
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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

from tqdm import tqdm

from radrl.process.children import end_with_parent
from radrl.process.importing import SWITCHES

SCRIPTS: Final = Path(__file__).parent
"""The folder of channel.py, and of the workers' scripts."""
SILENCE: Final = 1800.0
"""Seconds without a message; a large model may take minutes to load and to read one report on a CPU."""

_KINDS: Final[dict[str, type[Any]]] = {
    "about": dict,
    "answer": list,
    "alive": str,
    "error": str,
    "done": bool,
}
_TAIL_LINES, _TAIL_WIDTH = 12, 300
_GRACE_SECONDS: Final = 10.0


class WorkerError(RuntimeError):
    """A worker that does not do its work; the message names it and ends with its last words."""


def interpreter(python: str | Path | None, name: str, mend: str) -> Path:
    """The interpreter that is to run a worker.

    Args:
        python: of the environment with the package; the running one when nothing.
        name: of what the worker does, for the message.
        mend: what makes such an environment.

    Raises:
        WorkerError: there is none.
    """
    # not resolved: an environment's interpreter is a link, and finds its packages by the link's place
    found = Path(sys.executable) if python is None else Path(python).absolute()
    if not os.access(found, os.X_OK) or found.is_dir():
        raise WorkerError(f"{name}: no interpreter at {found}. Mend: {mend}")
    return found


@dataclass(frozen=True, slots=True)
class Reply:
    """What a worker gave back.

    Args:
        about: what its answers depend on.
        answers: one an item, in the order of the request.
    """

    about: dict[str, str]
    answers: list[Any]


class Talk:
    """A started worker, for the time of a `with` block; nothing of it survives the block.

    Args:
        python: the interpreter, of `interpreter`.
        script: the file.
        name: of what the worker does, for messages.
        timeout: seconds of silence after which the worker counts as hung.
        folder: its working folder.
        variables: of its environment, besides the user's own and the offline switches.

    Raises:
        WorkerError: it does not start.
    """

    def __init__(
        self,
        python: Path,
        script: Path,
        *,
        name: str,
        timeout: float = SILENCE,
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._name, self._timeout = name, timeout
        self._process = _started(python, script, name, folder, variables or {})
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._ended = False
        # One thread a pipe: whoever waits on one of them stops both sides once another is full.
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._write, self._read, self._listen)
        ]

    def __enter__(self) -> Talk:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def ask(self, request: Mapping[str, Any], items: int, *, bar: tqdm[Any] | None = None) -> Reply:
        """Give the worker a request and wait for its answers; it takes one request after another.

        Args:
            request: what the script takes, as JSON.
            items: how many answers there must be.
            bar: moved with every answer.

        Raises:
            WorkerError: the worker says what is wrong, dies, is silent too long, prints something else than
                answers, or leaves one out.
        """
        if self._ended:
            raise WorkerError(f"{self._name}: the worker has ended, and is asked for more")
        self._requests.put(json.dumps(request).encode() + b"\n")
        about: dict[str, str] = {}
        answers: dict[int, Any] = {}
        for kind, value in self._messages():
            if kind == "error":
                raise self.failure(value)
            if kind == "about":
                about |= value
            elif kind == "answer":
                number, answers[number] = value
            elif kind == "done":
                break
            if bar is not None:
                _show(bar, kind, value)
        else:
            raise self.failure(f"{self._how_it_ended()} after {len(answers)} of {items} answers")
        if sorted(answers) != list(range(items)):
            raise self.failure(f"answered {len(answers)} of {items} items")
        return Reply(about, [answers[number] for number in range(items)])

    def failure(self, what: str) -> WorkerError:
        """The error to raise, with the worker's last words; ends the worker."""
        self._end()
        said = "\n".join(self._tail)
        return WorkerError(
            f"{self._name}: the worker {what}" + (f"\nIts last words on stderr:\n{said}" if said else "")
        )

    def _messages(self) -> Iterator[tuple[str, Any]]:
        """Kind and value of every line, until the worker closes its side."""
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

    def _how_it_ended(self) -> str:
        """How the worker ended, once it has closed its side."""
        try:
            status = self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        if status >= 0:
            return f"ended with status {status}"
        hint = " (no memory left?)" if status == -signal.SIGKILL else ""
        return f"was killed by signal {-status}{hint}"

    def _end(self) -> None:
        if self._ended:
            return  # its number may be another's by now
        self._ended = True
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()  # the group is gone
        self._process.wait()
        self._requests.put(None)
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        stream = _opened(self._process.stdin)
        try:
            with stream:
                while (request := self._requests.get()) is not None:
                    stream.write(request)
                    stream.flush()
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


def _started(
    python: Path, script: Path, name: str, folder: Path | None, more: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    variables = os.environ | {switch: own.value for switch, own in SWITCHES.items()}
    variables |= {"TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1", "PYTHONIOENCODING": "utf-8"}
    paths = (str(SCRIPTS), os.environ.get("PYTHONPATH"))
    variables |= {"PYTHONPATH": os.pathsep.join(filter(None, paths)), **more}
    variables.pop("PYTHONHOME", None)  # of this interpreter; another would not find its own library
    try:
        return subprocess.Popen(
            [python, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=variables,
            start_new_session=True,  # a group of its own, which ends with it
            preexec_fn=partial(end_with_parent, os.getpid()),
        )
    except OSError as error:
        raise WorkerError(f"{name}: {python} does not start: {error}") from error


def _show(bar: tqdm[Any], kind: str, value: Any) -> None:
    if kind == "answer":
        bar.update()
    elif kind == "alive":
        bar.set_postfix_str(value)


def _message(line: bytes) -> tuple[str, Any] | None:
    """Kind and value of a line, or nothing when it is no message of `channel.py`."""
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
