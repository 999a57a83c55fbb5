"""A server on this machine that speaks the protocol, and misbehaves as told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Reply:
    """What the server does with one request: wait `delay` seconds, then send this, or hang up."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang_up: bool = False


def completion(text: Any, finish_reason: str | None = "stop", **how: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    body = {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}
    return Reply(json.dumps(body).encode(), headers={"Content-Type": "application/json"}, **how)


Script = Callable[[str, int], Reply]
"""From the prompt, and how often it has been asked before, to the reply."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, script: Script) -> None:
        self.script, self.lock = script, threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.under_way = self.busiest = 0
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def prompts(self) -> list[str]:
        return [request["messages"][0]["content"] for request in self.requests]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server, prompt = self.server, request["messages"][0]["content"]
        with server.lock:
            before = server.prompts.count(prompt)
            server.requests.append(request)
            server.paths.append(self.path)
            server.headers.append(dict(self.headers))
            server.under_way += 1
            server.busiest = max(server.busiest, server.under_way)
        reply = server.script(prompt, before)
        time.sleep(reply.delay)
        with server.lock:
            server.under_way -= 1
        if not reply.hang_up:
            self.send_response(reply.status)
            for name, value in (reply.headers | {"Content-Length": str(len(reply.body))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[Script], Server]]:
    """Starts servers, and stops them after the test."""
    running: list[tuple[Server, threading.Thread]] = []

    def start(script: Script) -> Server:
        server = Server(script)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def reply() -> Callable[..., Reply]:
    """Any reply."""
    return Reply


@pytest.fixture
def says() -> Callable[..., Reply]:
    """A completion with this text."""
    return completion
