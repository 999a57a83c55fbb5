"""A map over processes: ordered, bounded, and nobody is left behind."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from radrl.data.ingest import mapped


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 17])
def test_order_is_kept(processes: int, count: int) -> None:
    found = mapped(math.factorial, iter(range(count)), processes=processes, batch=3)
    assert list(found) == [math.factorial(n) for n in range(count)]


def test_input_is_read_only_a_little_ahead() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    found = mapped(math.factorial, items(), processes=2, batch=2)
    assert next(found) == 1
    assert len(read) <= 16
    found.close()


def test_an_error_in_a_process_comes_through() -> None:
    with pytest.raises(ValueError, match="domain"):
        list(mapped(math.sqrt, [4.0, -1.0, 9.0], processes=2, batch=1))


def test_a_process_that_is_killed_is_told_with_the_mend() -> None:
    with pytest.raises(RuntimeError, match=r"want of memory; set ingest\.workers lower"):
        list(mapped(os._exit, range(5), processes=2, batch=1))


PARENT = """
import sys
from radrl.data.ingest import mapped
from tests_slow import slow

if __name__ == "__main__":
    for pid in mapped(slow, range(100), processes=2, batch=1):
        print(pid, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_no_process_outlives_a_parent_that_was_killed(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "tests_slow.py").write_text(
        "import os, time\ndef slow(n):\n    time.sleep(0.2)\n    return os.getpid()\n"
    )
    (tmp_path / "parent.py").write_text(PARENT)
    parent = subprocess.Popen([sys.executable, "parent.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = {int(parent.stdout.readline()) for _ in range(4)}
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while any(map(_lives, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_lives, pids))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
