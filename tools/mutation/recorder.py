"""Which test runs which line of a room, and how long each takes: a plugin of pytest.

Not coverage.py, which the lock does not hold: contexts a test are all that is wanted of it here, and lines
that a shared fixture ran must count for every test that uses the fixture.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

import pytest

Line = tuple[str, int]
CALLS = 300
"""Of a function in a test that are followed line by line; what only later ones run is not seen."""


class Recorder:
    """Notes lines by test.

    Args:
        files: absolute path of every module of the room, to its path from the root.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._now: set[Line] = set()
        self._calls: Counter[CodeType] = Counter()
        self._of_fixtures: dict[Any, set[Line]] = {}
        self._fixtures = self._spent = 0.0  # CPU seconds of all shared fixtures, of those of this test
        self.tests: dict[str, dict[str, Any]] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._now, self._spent = set(), 0.0
        self._calls.clear()
        before, clock = cpu_seconds(), time.perf_counter()
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            result = yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
        lines: dict[str, list[int]] = {}
        for file, line in sorted(self._now | self._shared(item)):
            lines.setdefault(file, []).append(line)
        self.tests[item.nodeid] = {
            "cpu": round(max(0.0, cpu_seconds() - before - self._spent), 3),
            "wall": round(time.perf_counter() - clock, 3),
            "lines": lines,
        }
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        outer, self._now = self._now, set()
        before = cpu_seconds()
        try:
            return (yield)
        finally:
            self._of_fixtures.setdefault(fixturedef, set()).update(self._now)
            self._now = outer | self._now
            self._spent += (took := cpu_seconds() - before)
            self._fixtures += took

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.skipped:
            self.tests[report.nodeid] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def found(self, libraries: tuple[str, ...]) -> dict[str, Any]:
        """What was noted, and which modules of libraries the tests imported."""
        modules = sorted(name for name in sys.modules if name.partition(".")[0] in libraries)
        ran = {name: test for name, test in self.tests.items() if test.get("lines")}
        return {"tests": ran, "failed": self.failed, "fixtures": round(self._fixtures, 3), "modules": modules}

    def _shared(self, item: pytest.Item) -> set[Line]:
        known: Mapping[str, Any] = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009
        own = [self._of_fixtures.get(one, set()) for definitions in known.values() for one in definitions]
        return set().union(*own)

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        file = self._files.get(frame.f_code.co_filename)
        if file is None or self._calls[frame.f_code] >= CALLS:
            return None
        self._calls[frame.f_code] += 1

        def step(inner: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                self._now.add((file, inner.f_lineno))
            return step

        return step


def cpu_seconds() -> float:
    """Of this process and of those that it waited for."""
    return sum(os.times()[:4])
