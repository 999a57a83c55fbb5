"""What the worker scripts share: requests in, JSON lines out, and no way to the network.

Their interpreter has neither radrl nor its packages, so this too is standard library alone.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

Request = dict[str, Any]

_NETWORK = frozenset(
    {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendmsg", "socket.sendto"}
)

_SERVER: set[tuple[str, int]] = set()
"""Names and addresses, with the port, of the one server that a worker may reach."""


class Refusal(Exception):
    """What the user has to mend; the message says it without a traceback."""


class Channel:
    """The way back to radrl, one JSON object of one key a line.

    It is a copy of stdout, and stdout itself becomes stderr: what a package prints is never an answer.
    """

    def __init__(self) -> None:
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def about(self, facts: dict[str, str]) -> None:
        """Say what every answer depends on."""
        self.send("about", facts)

    def answer(self, number: int, value: Any) -> None:
        """Answer item `number` of the request."""
        self.send("answer", [number, value])

    def alive(self, note: str) -> None:
        """Say how far the work is, lest silence be taken for a hang."""
        self.send("alive", note)

    def send(self, kind: str, value: Any) -> None:
        """Write one line."""
        self._lines.write(json.dumps({kind: value}) + "\n")
        self._lines.flush()


def serve(work: Callable[[Request, Channel], None]) -> None:
    """Do the work of each request, say that it is done or why not; end, at once, when no more can come.

    Args:
        work: takes a request and the channel for its answers.
    """
    channel = Channel()
    sys.addaudithook(_refuse_network)
    try:
        for request in _requests():
            work(request, channel)
            channel.send("done", True)
    except Refusal as refusal:
        channel.send("error", str(refusal))
        sys.exit(1)
    except Exception as error:
        traceback.print_exc()
        channel.send("error", f"failed with {type(error).__name__}: {error}")
        sys.exit(1)


def allow_server(host: str, port: int) -> None:
    """Let this process reach one server and still nothing else; a proxy or a redirect leads nowhere.

    Args:
        host: its name or address.
        port: where it listens.

    Raises:
        Refusal: the name is nobody's.
    """
    _SERVER.add((host, port))
    try:
        found = socket.getaddrinfo(host, port)
    except OSError as error:
        raise Refusal(f"finds no host {host!r}: {error}. Mend: its url") from error
    _SERVER.update((str(address[0]), port) for *_, address in found)


def require(package: str, *, target: str = "scorers", parameter: str = "python") -> None:
    """Refuse to go on without a package.

    Args:
        package: name it is imported by.
        target: of make, that makes an environment with it.
        parameter: that names the interpreter.

    Raises:
        Refusal: it is not installed.
    """
    if find_spec(package) is None:
        raise Refusal(
            f"finds no package `{package}` in {sys.executable}. Mend: `make {target}` makes an "
            f"environment that has it; give the interpreter of that one as `{parameter}`"
        )


def _requests() -> Iterator[Request]:
    """Requests as they come. Who asks may be killed in the middle of one: none waits for its answer then."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        parts: list[bytes] = []
        while chunk := os.read(0, 1 << 20):  # not by sys.stdin, whose lock a thread would hold at the end
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                lines.put(b"".join([*parts, end]))
                parts.clear()
            parts.append(rest)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield json.loads(lines.get())


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: patient text is in this process, so nothing in it may call out.

    The offline switches bind the Hugging Face packages alone; nltk, stanza and others would download.
    """
    if event not in _NETWORK:
        return
    unix = getattr(socket, "AF_UNIX", None)  # pipes of multiprocessing
    if isinstance(arguments[0], socket.socket) and arguments[0].family == unix:
        return
    if _asked_for(event, arguments) in _SERVER:
        return
    raise PermissionError(f"a worker has no network: {event} refused")


def _asked_for(event: str, arguments: tuple[Any, ...]) -> tuple[str, int] | None:
    """The host and port that are to be looked up or reached."""
    if event == "socket.getaddrinfo":
        host, port = arguments[:2]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host, port = arguments[1][:2]
    else:
        return None
    return (host.decode() if isinstance(host, bytes) else str(host)), int(port or 0)
