"""An end of what would wait for ever, where a test feeds readers with anything."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """End what waits for ever, on systems that have alarms.

    Args:
        seconds: far more than what stands in the block takes.
    """
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: object) -> None:
        raise AssertionError(f"nothing came of it in {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
