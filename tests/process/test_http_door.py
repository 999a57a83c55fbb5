"""The door of a server: bounds of size and time, and answers without stack traces, in one process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from radrl.process.http_door import LONGEST, Guarded, Refused


class App:
    """Says how long a body was, or what the test has it say."""

    def __init__(self, status: int = 200, body: str = "", kind: bytes = b"application/json") -> None:
        self.status, self.body, self.kind = status, body, kind
        self.seen: list[bytes] = []
        self.error: Exception | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        assert not message["more_body"]
        self.seen.append(message["body"])
        if self.error:
            raise self.error
        headers = [(b"Content-Type", self.kind)]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        body = (self.body or str(len(message["body"]))).encode()
        await send({"type": "http.response.body", "body": body[:4], "more_body": True})
        await send({"type": "http.response.body", "body": body[4:]})


def told(
    door: Guarded, *pieces: bytes, headers: Iterable[tuple[bytes, bytes]] = (), waits: bool = False
) -> tuple[int, str]:
    """Status and body that a client gets who sends these pieces, and then waits or is done."""
    return asyncio.run(asked(door, *pieces, headers=headers, waits=waits))


async def asked(
    door: Guarded,
    *pieces: bytes,
    headers: Iterable[tuple[bytes, bytes]] = (),
    waits: bool = False,
    gate: asyncio.Event | None = None,
) -> tuple[int, str]:
    left, got = list(pieces), []

    async def receive() -> dict[str, Any]:
        if gate and len(left) == 1:
            await gate.wait()
        if left:
            piece = left.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(left) or waits}
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        got.append(message)

    scope = {"type": "http", "method": "POST", "path": "/x", "headers": list(headers)}
    await door(scope, receive, send)
    return got[0]["status"], b"".join(message.get("body", b"") for message in got[1:]).decode()


def test_a_body_comes_whole_and_the_answer_as_it_is() -> None:
    app = App()
    assert told(Guarded(app, most_bytes=10, most_held=10), b"12345", b"67890") == (200, "10")
    assert app.seen == [b"1234567890"]


@pytest.mark.parametrize("declared", [[], [(b"content-length", b"11")]])
def test_a_larger_body_is_refused_after_it_was_read_and_let_go(declared: list[tuple[bytes, bytes]]) -> None:
    app = App()
    door = Guarded(app, most_bytes=10, most_held=10)
    status, said = told(door, b"12345", b"678901", headers=declared)
    assert (status, json.loads(said)["error_code"]) == (413, "BAD_REQUEST")
    assert "has more than 0 MiB" in said
    assert app.seen == []
    assert told(door, b"1234567890")[0] == 200  # nothing of it is held


def test_who_asks_first_need_not_send_a_large_body() -> None:
    asking = [(b"content-length", b"11"), (b"expect", b"100-continue")]
    assert told(Guarded(App(), most_bytes=10, most_held=10), headers=asking, waits=True)[0] == 413


def test_a_client_that_waits_in_the_middle_is_told_so() -> None:
    app = App()
    status, said = told(Guarded(app, most_bytes=10, most_held=10, seconds=0.05), b"1234", waits=True)
    assert (status, app.seen) == (408, [])
    assert json.loads(said)["error_code"] == "DEADLINE_EXCEEDED"


def test_bodies_that_are_held_at_once_are_bounded() -> None:
    async def both(door: Guarded) -> tuple[int, int, int]:
        gate = asyncio.Event()
        first = asyncio.create_task(asked(door, b"12345678", b"9", gate=gate))
        await asyncio.sleep(0.01)
        second = (await asked(door, b"1234"))[0]
        gate.set()
        return (await first)[0], second, (await asked(door, b"1234"))[0]

    assert asyncio.run(both(Guarded(App(), most_bytes=10, most_held=10))) == (200, 429, 200)


def test_errors_are_cut_and_have_no_stack_trace() -> None:
    error = {"error_code": "BAD", "message": "x" * 5000, "stack_trace": 'File "a.py", line 1'}
    status, said = told(Guarded(App(400, json.dumps(error)), most_bytes=10, most_held=10), b"")
    assert status == 400
    assert json.loads(said) == {"error_code": "BAD", "message": "x" * LONGEST + " ..."}
    page = Guarded(App(404, "<h1>not here</h1>", b"text/html"), most_bytes=10, most_held=10)
    assert told(page, b"") == (404, "<h1>not here</h1>")


def test_what_fails_behind_it_is_told_to_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    app = App()
    app.error = RuntimeError("a secret path")
    status, said = told(Guarded(app, most_bytes=10, most_held=10), b"")
    assert (status, "secret" in said) == (500, False)
    assert "a secret path" in caplog.text
    app.error = Refused(415, "as JSON")
    assert told(Guarded(app, most_bytes=10, most_held=10), b"") == (
        415,
        '{"error_code": "BAD_REQUEST", "message": "as JSON"}',
    )


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"a": 1}', 200),
        (b"", 200),
        (b"[1]", 400),
        (b'{"a": ', 400),
        (b"[" * 9999, 400),
        (b'{"a":"\xff"}', 400),
    ],
)
def test_what_says_it_is_json_has_to_be_an_object(body: bytes, status: int) -> None:
    door = Guarded(App(), most_bytes=1 << 20, most_held=1 << 20, json=True)
    assert told(door, body, headers=[(b"content-type", b"application/json; charset=utf-8")])[0] == status
    assert told(door, body, headers=[(b"content-type", b"text/csv")])[0] == 200
