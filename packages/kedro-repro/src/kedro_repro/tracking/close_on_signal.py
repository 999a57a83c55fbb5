"""A signal that ends a process lets it close its record first."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, NoReturn

PATIENCE: Final = 15
"""Whole seconds that the process has to unwind; the system ends it then."""

_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class ClosedAtTheEnd:
    """Calls something at the end of the process, also where a signal brings that about.

    SIGTERM and a closed terminal unwind the process as Ctrl-C does, so that what it was writing is put away.
    Forked processes end as they would without. `kill -9` leaves no time for anything.

    Args:
        close: what is called; it may be called when all is closed.
    """

    def __init__(self, close: Callable[[], object]) -> None:
        self._close, self._process = close, os.getpid()
        self._before: dict[int, Any] = {}

    def begin(self) -> None:
        """From now on; signals that somebody else handles, or ignores, stay theirs."""
        atexit.register(self._at_exit)
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            if signal.getsignal(number) == signal.SIG_DFL:
                self._before[number] = signal.signal(number, self._unwind)

    def end(self) -> None:
        """No more; what ends the process later finds nothing open."""
        atexit.unregister(self._at_exit)
        while self._before:
            number, before = self._before.popitem()
            if signal.getsignal(number) == self._unwind:
                signal.signal(number, before)

    def _unwind(self, number: int, frame: FrameType | None) -> NoReturn:
        if os.getpid() != self._process:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        for one in self._before:  # who ends stages repeats the signal until they have ended
            signal.signal(one, _heard)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        sys.exit(128 + number)

    def _at_exit(self) -> None:
        if os.getpid() == self._process:
            self._close()


def _heard(number: int, frame: FrameType | None) -> None:
    """A signal after the first."""
