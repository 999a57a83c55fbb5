"""Requests to a server of this machine, several at once, and what it answers and holds in memory."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import psutil

HOST: Final = "127.0.0.1"

PATIENCE: Final = 120.0
"""Seconds after which a server that has not answered hangs."""

PIECE: Final = 1 << 20
TRACES: Final = ("Traceback", 'File "', "stack_trace")
"""What an answer has that shows how the server is made."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One kind of request.

    Args:
        name: of the kind.
        method: of HTTP.
        path: on the server.
        body: what is sent.
        headers: beside Host and Content-Length; one of no value is left out.
        good: whether it is answered with 200; else with a 4xx and a reason.
        repeat: how often the body is sent in a row, in place of a body as long.
        head_share: of the head that is sent before the client waits.
        share: of the body that is sent before the client waits.
        rare: whether it takes seconds, or memory of the client's.
        leaves: whether the client closes the connection then, and gets no answer.
    """

    name: str
    method: str = "POST"
    path: str = "/invocations"
    body: bytes = b""
    headers: Mapping[str, str | None] = field(default_factory=dict)
    good: bool = False
    repeat: int = 1
    head_share: float = 1.0
    share: float = 1.0
    rare: bool = False
    leaves: bool = False

    def head(self) -> bytes:
        """The request's first lines."""
        length = str(len(self.body) * self.repeat) if self.body else None
        told = {"Host": HOST, "Content-Type": "application/json", "Content-Length": length} | self.headers
        lines = [f"{self.method} {self.path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in told.items() if value is not None]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def pieces(self) -> Iterator[bytes]:
        """All that is sent."""
        head = self.head()
        yield head[: int(len(head) * self.head_share)]
        if self.head_share == 1:
            end = int(len(self.body) * self.share)
            for _ in range(self.repeat):
                yield from (self.body[at : min(at + PIECE, end)] for at in range(0, end, PIECE))


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a request.

    Args:
        asked: the request.
        status: of the answer; 0 where there was none.
        text: its body.
        seconds: from the first byte sent to the last one received.
    """

    asked: Asked
    status: int
    text: str
    seconds: float

    def wrong(self) -> str:
        """What is wrong with the answer; empty where it is as it has to be."""
        if any(trace in self.text for trace in TRACES):
            return f"{self.status} with a stack trace"
        if self.asked.leaves:
            return ""
        if self.asked.good:
            return "" if self.status == 200 else f"{self.status} to a good request"
        if not 400 <= self.status < 500:
            return str(self.status) if self.status else "no answer"
        return "" if self.text.strip() else f"{self.status} without a reason"


def ask(port: int, asked: Asked) -> Answered:
    """Send a request and wait for its answer.

    Args:
        port: of the server.
        asked: the request.
    """
    begun = time.monotonic()
    with socket.create_connection((HOST, port), timeout=PATIENCE) as one:
        try:
            for piece in asked.pieces():
                one.sendall(piece)
            if asked.leaves:
                return Answered(asked, 0, "", time.monotonic() - begun)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server may have answered before it had all
        try:
            found = http.client.HTTPResponse(one, method=asked.method)
            found.begin()
            text = found.read().decode(errors="replace")
            return Answered(asked, found.status, text, time.monotonic() - begun)
        except (OSError, http.client.HTTPException):
            return Answered(asked, 0, "", time.monotonic() - begun)


@dataclass
class Memory:
    """Resident bytes of a server and its children, twice a second while the block lasts."""

    process: psutil.Process
    seen: list[int] = field(default_factory=list)
    _end: threading.Event = field(default_factory=threading.Event)

    def now(self) -> int:
        """Of all of its processes."""
        found = 0
        for one in (self.process, *self.process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                found += one.memory_info().rss
        return found

    def __enter__(self) -> Memory:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.5):
            self.seen.append(self.now())


@dataclass(frozen=True, slots=True)
class Measured:
    """What a load did to a server.

    Args:
        answers: one a request.
        before: resident bytes after the requests that warm it.
        after: at the end.
        peak: the most that was seen.
        seconds: of all of it.
    """

    answers: Sequence[Answered]
    before: int
    after: int
    peak: int
    seconds: float

    @property
    def growth(self) -> float:
        """The share by which the server holds more than before."""
        return self.after / self.before - 1

    def wrong(self) -> dict[str, int]:
        """By kind and fault how often it was."""
        found: dict[str, int] = {}
        for one in self.answers:
            if fault := one.wrong():
                found[f"{one.asked.name}: {fault}"] = found.get(f"{one.asked.name}: {fault}", 0) + 1
        return found


def load(
    port: int, process: psutil.Process, warm: Sequence[Asked], asked: Sequence[Asked], *, at_once: int
) -> Measured:
    """Send requests.

    Args:
        port: of the server.
        process: the server.
        warm: good ones that go first, one after another and then together, and are not counted.
        asked: those that are, in this order.
        at_once: how many are on their way.
    """
    memory = Memory(process)
    with ThreadPoolExecutor(at_once) as pool:
        for one in warm:
            ask(port, one)
        rounds = max(2, -(-2 * at_once // len(warm)))  # so that no thread is new to the server in the load
        list(pool.map(lambda one: ask(port, one), [*warm] * rounds))
        before, begun = memory.now(), time.monotonic()
        numbers = count(1)

        def said(one: Asked) -> Answered:
            found, number = ask(port, one), next(numbers)
            if number % 50 == 0:
                print(f"{number} of {len(asked)}, {memory.now() / 1e6:.0f} MB", flush=True)
            return found

        with memory:
            answers = list(pool.map(said, asked))
            answers.append(ask(port, warm[0]))  # it still serves
        seconds = time.monotonic() - begun
    time.sleep(1.0)
    after = memory.now()
    return Measured(answers, before, after, max(memory.seen, default=after), seconds)
