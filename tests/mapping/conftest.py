"""Programs of these tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest


@pytest.fixture
def start_python(root: Path) -> Iterator[Callable[[str], psutil.Popen]]:
    """Start Python on some lines, with the modules of this project and of its tests; ended with the test."""
    started: list[psutil.Popen] = []
    path = os.pathsep.join([str(root / "src"), str(root / "tests/helpers")])

    def start(lines: str) -> psutil.Popen:
        process = psutil.Popen(
            [sys.executable, "-c", lines],
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with suppress(psutil.NoSuchProcess):
            process.kill()
            process.wait()
