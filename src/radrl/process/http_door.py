"""The door of a server: what it takes in is bounded in size and time, and what it says has no stack trace.

A body is read whole before anything works on it, so that a client that sends half and waits holds a socket
and no thread. What is refused here is answered with a 4xx and its reason, in the form of MLflow's errors.

`uvicorn --http radrl.process.http_door:Punctual` bounds the time of a request's head as well, for which
uvicorn itself waits without end.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import time
from asyncio import TimerHandle, Transport
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from radrl.storage.json_files import NoJson, parsed

_LOG = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
"""As ASGI has them."""

SLOWEST: Final = 100_000
"""Bytes a second that a body has to keep up with, on average."""

LARGE: Final = 16 << 20
"""Bytes of a body after which memory is given back at once, which takes tenths of a second."""

AFTER: Final = 1.0
"""Seconds after which it is given back once more."""

LONGEST: Final = 1000
"""Characters of an error's message: those of libraries repeat what they were given."""

CODES: Final = {
    400: "BAD_REQUEST",
    404: "RESOURCE_DOES_NOT_EXIST",
    405: "BAD_REQUEST",
    408: "DEADLINE_EXCEEDED",
    413: "BAD_REQUEST",
    415: "BAD_REQUEST",
    429: "REQUEST_LIMIT_EXCEEDED",
    500: "INTERNAL_ERROR",
}
"""By status MLflow's name of it."""


class Refused(Exception):
    """What a client is answered.

    Args:
        status: of the answer.
        reason: what is wrong and what to do.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Guarded:
    """An application behind its door.

    Args:
        app: ASGI.
        most_bytes: of one body.
        most_held: of all bodies that are held at once.
        seconds: until a body is there, beside what its length takes at `SLOWEST`.
        json: whether bodies that say they are JSON have to be objects of it.
    """

    def __init__(
        self, app: App, *, most_bytes: int, most_held: int, seconds: float = 10.0, json: bool = False
    ) -> None:
        self._app, self._most, self._most_held = app, most_bytes, most_held
        self._seconds, self._json = seconds, json
        self._held = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request, or what else a server asks of an application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = _Said(send)
        body = bytearray()
        try:
            await self._read(scope, receive, body)
            if self._json and body and b"json" in _header(scope, b"content-type"):
                _require_json(bytes(body))
            await self._app(scope, _again(bytes(body), receive), said)
        except Refused as refused:
            await answer(send, refused.status, str(refused))
        except _Gone:
            pass
        except Exception:
            _LOG.exception("%s %s failed", scope["method"], scope["path"])
            if not said.begun:
                await answer(send, 500, "the server failed; its log says where")
        finally:
            large = len(body) > LARGE
            self._held -= len(body)
            body.clear()
            if large:
                _let_go()
                asyncio.get_running_loop().call_later(AFTER, _let_go)  # and what the server still held

    async def _read(self, scope: MutableMapping[str, Any], receive: Receive, body: bytearray) -> None:
        declared = _header(scope, b"content-length")
        refused = self._too_large() if declared.isdigit() and int(declared) > self._most else None
        if refused and _header(scope, b"expect"):  # who asks first need not send it
            raise refused
        begun, got, more = time.monotonic(), 0, True
        while more and got <= 4 * self._most:
            message = await self._next(receive, begun + self._seconds + got / SLOWEST)
            piece = message.get("body", b"")
            got += len(piece)
            more = message.get("more_body", False)
            refused = refused or self._refusal(got, len(piece))
            if refused:  # read on, and let go: who still sends would not see the answer
                self._held -= len(body)
                body.clear()
            else:
                self._held += len(piece)
                body += piece
        if refused:
            raise refused

    def _refusal(self, got: int, more: int) -> Refused | None:
        if got > self._most:
            return self._too_large()
        if self._held + more > self._most_held:
            return Refused(429, "too many large requests at once; send it again in a few seconds")
        return None

    async def _next(self, receive: Receive, deadline: float) -> Message:
        try:
            message = await asyncio.wait_for(receive(), max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            raise Refused(
                408, f"the request did not come to its end; send all of it within {self._seconds:.0f} s"
            ) from None
        if message["type"] == "http.disconnect":
            raise _Gone
        return message

    def _too_large(self) -> Refused:
        return Refused(413, f"the request has more than {self._most >> 20} MiB; send less at once")


def _let_go() -> None:
    """Give back what a body took: copies of it that errors refer to, and what the allocator keeps."""
    import pyarrow as pa

    gc.collect()
    pa.default_memory_pool().release_unused()


class _Gone(Exception):
    """The client has closed the connection."""


class _Said:
    """Passes an answer on; of one that is an error the stack trace is left out and the message cut."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = bytearray()
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_error(message):
            self._start = message
        elif self._start is None:
            self.begun = True
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                self.begun = True
                await answer(self._send, self._start["status"], **_told(bytes(self._body)))


def _is_error(start: Message) -> bool:
    types = [value for name, value in start.get("headers", ()) if bytes(name).lower() == b"content-type"]
    return int(start["status"]) >= 400 and any(b"json" in bytes(kind) for kind in types)


def _told(body: bytes) -> dict[str, str]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        return {"reason": body.decode(errors="replace").strip()}
    reason = found.get("message", found.get("detail", ""))
    reason = reason if isinstance(reason, str) else json.dumps(reason)
    return {"reason": reason} | ({"code": str(found["error_code"])} if "error_code" in found else {})


async def answer(send: Send, status: int, reason: str, code: str = "") -> None:
    """Answer with an error.

    Args:
        send: of ASGI.
        status: the answer's.
        reason: what is wrong; its first `LONGEST` characters are said.
        code: MLflow's name of the error; by default that of the status.
    """
    cut = reason if len(reason) <= LONGEST else f"{reason[:LONGEST]} ..."
    body = json.dumps({"error_code": code or CODES.get(status, "BAD_REQUEST"), "message": cut}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status in (408, 413, 429):  # what is left of the request is not read
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _header(scope: MutableMapping[str, Any], name: bytes) -> bytes:
    return next((bytes(value).lower() for key, value in scope["headers"] if key == name), b"")


def _require_json(body: bytes) -> None:
    try:
        found = parsed(body)
    except NoJson as error:
        raise Refused(400, f"the request is no JSON: {error}") from None
    if not isinstance(found, dict):  # MLflow would take it for a request that asks nothing
        raise Refused(400, "the request is no JSON object")


def _again(body: bytes, receive: Receive) -> Receive:
    """What hands the body to the application, once, and then what comes after it."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_() -> Message:
        return whole.pop() if whole else await receive()

    return next_


SECONDS: Final = 10.0
"""Until the head of a request is there."""

_LATE: Final = (
    b'{"error_code": "DEADLINE_EXCEEDED", "message": "the head of the request did not come to its end"}'
)
_ANSWER: Final = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_LATE), _LATE)
)


class Punctual(H11Protocol):
    """Closes a connection on which the head of a request takes longer than `SECONDS`."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._late: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on, where this was not the rest of a head."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self._late or self.loop.call_later(SECONDS, self._close)

    def _stop(self) -> None:
        if self._late:
            self._late.cancel()
        self._late = None

    def _close(self) -> None:
        self._late = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.write(_ANSWER)
            self.transport.close()
