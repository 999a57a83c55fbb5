"""The fork server: imports what stages need once, then forks a process for each program that is asked for.

    python -m kedro_repro.fork_server SOCKET < PIPE        ends when the pipe is closed

Other people's libraries are all that is imported before a fork. Nothing of the project is but the function
that it names to be called first, so each stage reads the project's code and parameters as they stand when it
starts, as it would in a process of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import logging
import os
import selectors
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from kedro_repro import fork_client
from kedro_repro.parent_death import end_with_parent, outlive_parent
from kedro_repro.project import load

LIBRARIES: Final = (
    "dvc.cli.parser",
    "dvc.commands.repro",
    "dvc.repo.reproduce",
    "dvc.stage.run",
    "scmrepo.git",
    "kedro.config",
    "kedro.framework.cli.project",
    "kedro.framework.context",
    "kedro.framework.session.service_session",
    "kedro.runner",
)
"""Imported before the first request, in this order, and then those that the project names."""


_OUTLASTING: Final = frozenset({"dvc"})
"""Programs that end by themselves when the command they run has: a signal could cut DVC off in dvc.lock."""

_PATIENCE: Final = 30.0
"""Seconds that a process has to end by itself before it is killed."""


class Server:
    """Forks a process for each request and tells how it ended.

    Args:
        address: the path of its socket.
    """

    def __init__(self, address: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(address))
        self._listener.listen()
        self._asked: dict[int, socket.socket] = {}
        self._outlasting: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake):
            end.setblocking(False)

    def serve(self) -> tuple[fork_client.Job, list[int]] | None:
        """Answer requests until standard input is closed.

        Returns:
            In a forked process, what it is to run and its streams; None in the server, at its end.
        """
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for source in (self._listener, self._woken, sys.stdin):
            self._selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is sys.stdin:
                    self._end()
                    return None
                if key.fileobj is self._woken:
                    self._tell_ends()
                elif key.fileobj is not self._listener:
                    self._give_up(key.data)
                elif job := self._fork():
                    return job

    def _fork(self) -> tuple[fork_client.Job, list[int]] | None:
        connection, _ = self._listener.accept()
        try:
            job, streams = fork_client.receive(connection)
        except (OSError, ValueError):
            connection.close()
            return None
        own = os.getpid()
        pid = os.fork()
        if pid == 0:
            end_with_parent(own)
            self._leave(connection)
            return job, streams
        for stream in streams:
            os.close(stream)
        self._asked[pid] = connection
        if job.program in _OUTLASTING:
            self._outlasting.add(pid)
        self._selector.register(connection, selectors.EVENT_READ, pid)
        fork_client.answer(connection, pid=pid)
        return None

    def _leave(self, connection: socket.socket) -> None:
        """In the forked process: nothing of the server's stays open, signals mean what they do anywhere."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for one in (self._listener, self._woken, self._wake, connection, *self._asked.values()):
            one.close()

    def _tell_ends(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass
        for pid in list(self._asked):
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if ended:
                connection = self._asked.pop(pid)
                self._outlasting.discard(pid)
                with contextlib.suppress(KeyError):  # of who is gone
                    self._selector.unregister(connection)
                cpu = usage.ru_utime + usage.ru_stime
                fork_client.answer(connection, status=os.waitstatus_to_exitcode(status), cpu=cpu)
                connection.close()

    def _give_up(self, pid: int) -> None:
        """Who asked is gone, as after a kill: a command ends as on a signal, DVC when its command has."""
        if pid in self._asked:
            self._selector.unregister(self._asked[pid])
            if pid not in self._outlasting:
                os.kill(pid, signal.SIGTERM)

    def _end(self) -> None:
        """Nobody is left to answer: start nothing, end what runs, by force what does not end by itself."""
        self._listener.setblocking(False)
        began = time.monotonic()
        while self._asked:
            self._refuse()
            late = time.monotonic() - began > _PATIENCE
            for pid in self._asked.keys() if late else self._asked.keys() - self._outlasting:
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
            time.sleep(0.1)
            self._tell_ends()

    def _refuse(self) -> None:
        """Hang up on whoever asks: DVC may only now come to its command."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._listener.accept()[0].close()


def main() -> int:
    """Import, serve, and in a forked process run what was asked for.

    Returns:
        The exit status.
    """
    end_with_parent()  # until there are processes to be ended first
    _import_libraries(load(Path.cwd(), with_class=False).fork_server)
    address = Path(sys.argv[1])
    outlive_parent()
    asked = Server(address).serve()
    if asked is None:
        address.unlink(missing_ok=True)
        return 0
    _run(*asked)
    return 0


def _run(job: fork_client.Job, streams: list[int]) -> None:
    """Run a program as if its process had been started for it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(job.variables)
    os.chdir(job.folder)
    sys.argv = [job.program, *job.arguments]
    status = 0
    try:
        if job.program == "dvc":
            logging.getLogger().handlers.clear()  # Kedro's, which it sets up when it is imported
            status = import_module("dvc.cli").main(job.arguments)
        else:
            import_module("kedro.framework.cli").main()
    except SystemExit as end:
        status = _status(end.code)
    except BaseException:
        status = 1
        sys.excepthook(*sys.exc_info())
    if threading.active_count() > 1:
        sys.exit(status)
    # To take the libraries apart one by one at the end costs 0.7 s, which copies each of their pages.
    atexit._run_exitfuncs()
    for open_ in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            open_.flush()
    os._exit(status)


def _status(code: object) -> int:
    """An exit status of what `sys.exit` was given."""
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _import_libraries(said: Mapping[str, Any]) -> None:
    """Import what stages need; what is missing, or fails, is met by the stage that needs it.

    Args:
        said: `Project.fork_server`: a function that is called first, modules, and names of modules
            that import their parts by name when they are first asked for, as ``transformers:Trainer``.
    """
    if prepare := said.get("prepare"):
        _named(str(prepare))()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (*LIBRARIES, *said.get("modules", ())):
            with contextlib.suppress(ImportError):
                import_module(name)
        for path in said.get("attributes", ()):
            with contextlib.suppress(ImportError, RuntimeError):
                _named(path)
        if "sqlalchemy.orm" in sys.modules:
            import_module("sqlalchemy.orm").configure_mappers()
    gc.freeze()  # what is imported lives to the end: no collection need look at it, or copy its pages


def _named(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


if __name__ == "__main__":
    sys.exit(main())
