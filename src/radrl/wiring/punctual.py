"""HTTP as uvicorn speaks it, for clients that begin a request and do not go on.

`uvicorn --http radrl.wiring.punctual:Punctual` takes it. uvicorn itself waits for the rest of a request's
head without end; a body's time is `radrl.wiring.guard`'s.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

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
