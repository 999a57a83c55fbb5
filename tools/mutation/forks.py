"""Run tests in a fork of this process, in which a module may be another than the one on disk.

What takes seconds, the import of libraries, is done once, here; a fork has it. A mutant is put in by the
import system as its module is imported, so nothing on disk changes. Processes that a test starts see the
module as it is on disk: what only they would notice counts as not noticed.
"""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import entry_points
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

TIMES, SECONDS = 3, 10
"""A mutant has this many times the usual CPU seconds of its tests, and these."""

WALL = 5
"""And this many times as long by the clock, in which it may wait for other programs on the machine."""

MEMORY = 4 * 2**30
"""Bytes that a mutant may take beyond what this process has."""

TIME_OUT = (signal.SIGXCPU, signal.SIGKILL)
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist")
FINISHED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)


class BrokenRun(RuntimeError):
    """pytest did not do what it was asked: nothing can be said of the mutant."""


@dataclass(frozen=True)
class Outcome:
    """What tests said.

    Args:
        state: ``passed``, ``failed`` or ``time``.
        by: the test that failed first; the file, where it could not be imported.
        why: the last line of its error.
        cpu: seconds.
    """

    state: str
    by: str
    why: str
    cpu: float


class Mutated(MetaPathFinder, SourceFileLoader):
    """Finds one module, and gives it other code than its file's.

    Args:
        name: the module's.
        file: where its source stands.
        tree: what is run instead.
    """

    def __init__(self, name: str, file: Path, tree: ast.Module) -> None:
        SourceFileLoader.__init__(self, name, str(file))
        self._file, self._tree = file, tree

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return spec_from_file_location(fullname, self._file, loader=self) if fullname == self.name else None

    def get_code(self, fullname: str) -> Any:
        return compile(self._tree, str(self._file), "exec", dont_inherit=True)


class _Chosen:
    """Runs given tests in a given order, and notes the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._tests = tests
        self.by = self.why = ""

    def pytest_sessionstart(self) -> None:
        """After the conftest, whose profile this replaces: all mutants have the same examples."""
        if "hypothesis" in sys.modules:
            from hypothesis import HealthCheck, Phase, settings

            settings.register_profile(
                "mutants",
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = {item.nodeid: item for item in items}
        items[:] = [known[test] for test in self._tests if test in known]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def _note(self, report: Any) -> None:
        if report.failed and not self.by:
            lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
            self.by, self.why = report.nodeid, lines[0][1:].strip()[:200] if lines else ""


def load(modules: Iterable[str]) -> None:
    """Import pytest's plugins and modules of libraries; what does not come alone is left to the forks.

    They are then out of the collector's reach, which would go through all of them in every fork.
    """
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    for name in modules:
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except Exception:
                continue
    gc.collect()
    gc.freeze()


def run(tests: Sequence[str], *, cpu: float, mutation: Mutated | None = None) -> Outcome:
    """Run tests until one fails.

    Args:
        tests: node ids, in the order in which they are run.
        cpu: seconds that they take as a rule, with what they share.
        mutation: the module that is another.

    Raises:
        BrokenRun: when pytest ended in another way than by passing or failing.
    """
    chosen = _Chosen(tests)

    def work() -> dict[str, Any]:
        if mutation is not None:
            if mutation.name in sys.modules:
                raise BrokenRun(f"{mutation.name} is imported before it could be changed")
            sys.meta_path.insert(0, mutation)
        code = pytest.main(
            [*OPTIONS, "-x", *dict.fromkeys(test.partition("::")[0] for test in tests)], [chosen]
        )
        return {"code": int(code), "by": chosen.by, "why": chosen.why}

    before, limit = os.times(), TIMES * cpu + SECONDS
    answer, log = forked(work, cpu=limit)
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - before.children_system
    if answer is None:
        return Outcome(
            "time", "", f"more than {limit:.0f} CPU seconds, or {WALL} times that by the clock", took
        )
    if "signal" in answer:
        return Outcome("failed", tests[0].partition("::")[0], f"it died of signal {answer['signal']}", took)
    if answer["code"] == pytest.ExitCode.NO_TESTS_COLLECTED and mutation is not None:
        return Outcome("failed", tests[0].partition("::")[0], "its tests are no longer there", took)
    if answer["code"] not in FINISHED or (answer["code"] and not answer["by"]):
        raise BrokenRun(f"pytest ended with {answer['code']}:\n{log}")
    return Outcome("failed" if answer["code"] else "passed", answer["by"], answer["why"], took)


def forked(
    work: Callable[[], dict[str, Any]], *, cpu: float | None = None
) -> tuple[dict[str, Any] | None, str]:
    """Do something in a fork and hand back what it gives.

    Args:
        work: what is done; its temporary files are gone afterwards.
        cpu: seconds after which it is ended, or WALL times as many by the clock.

    Returns:
        Its answer, nothing where it was ended, the signal where it died of another; and the last that it
        printed.

    Raises:
        BrokenRun: when it raised.
    """
    with tempfile.TemporaryDirectory(prefix="mutants.", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if (pid := os.fork()) == 0:
            _child(work, folder, cpu)
        status = _wait(pid, None if cpu is None else WALL * cpu)
        log = (folder / "log").read_text(errors="replace")[-4000:]
        answer = folder / "answer"
        if answer.exists():
            return json.loads(answer.read_text()), log
        if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in TIME_OUT):
            return None, log
        if os.WIFSIGNALED(status):
            return {"signal": os.WTERMSIG(status)}, log
        raise BrokenRun(f"a fork ended with status {status}:\n{log}")


def _child(work: Callable[[], dict[str, Any]], folder: Path, cpu: float | None) -> None:
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with (folder / "log").open("wb", buffering=0) as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        if cpu is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(sum(os.times()[:2]) + cpu) + 1,) * 2)
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY,) * 2)
        answer = work()
        (folder / "unfinished").write_text(json.dumps(answer))
        (folder / "unfinished").rename(folder / "answer")
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait(pid: int, seconds: float | None) -> int | None:
    """The status of a child, nothing where its time ran out; what it started ends with it."""
    end = None if seconds is None else time.monotonic() + seconds
    try:
        while True:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return status
            if end is not None and time.monotonic() > end:
                _end(pid)
                os.waitpid(pid, 0)
                return None
            time.sleep(0.01)
    except BaseException:
        _end(pid)
        os.waitpid(pid, 0)
        raise
    finally:
        _end(pid)


def _end(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
