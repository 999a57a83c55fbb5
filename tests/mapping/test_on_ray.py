"""Ray's actors give what this process gives, also where one is killed; they stay on this machine."""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import shared_work
from shared_work import times_done, work

from radrl.mapping import on_ray
from radrl.mapping.engines import EngineMissing, WorkerDied, mapped

RAY = {"engine": "ray", "workers": 2}
SHARDS = range(8)
SQUARES = [n * n for n in SHARDS]
with_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="Ray is absent: pip install -c constraints.txt '.[ray]'",
)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Ray as a stage starts it, for all tests of this file."""
    before = signal.getsignal(signal.SIGTERM)
    found = on_ray._imported()
    with on_ray._running(found, workers=2, gpus=0):
        assert signal.getsignal(signal.SIGTERM) is before
        yield found
    assert not found.is_initialized()


def test_its_absence_is_said_with_the_mend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineMissing, match=r"compute\.engine is ray.*pip install .*\.\[ray\].*local"):
        list(mapped(work(tmp_path), SHARDS, RAY))


@with_ray
def test_every_shard_is_done_once_and_in_order(ray: Any, tmp_path: Path) -> None:
    assert list(mapped(work(tmp_path), SHARDS, RAY)) == SQUARES
    assert times_done(tmp_path) == dict.fromkeys(SHARDS, 1)
    assert len(list(tmp_path.glob("opened-*"))) <= 2


@with_ray
def test_a_killed_actor_loses_nothing_and_nothing_comes_twice(ray: Any, tmp_path: Path) -> None:
    (tmp_path / "kill-3").touch()
    assert list(mapped(work(tmp_path, shared_work.square_or_die), SHARDS, RAY)) == SQUARES
    assert times_done(tmp_path) == dict.fromkeys(SHARDS, 1)
    assert len(list(tmp_path.glob("opened-*"))) >= 2


@with_ray
def test_a_shard_that_kills_every_actor_ends_the_work(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(WorkerDied, match=r"squares: 4 workers of the ray engine died"):
        list(mapped(work(tmp_path, shared_work.die), range(2), RAY))


@with_ray
def test_an_error_of_the_work_is_its_own(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="no shard 0"):
        list(mapped(work(tmp_path, shared_work.refuse), SHARDS, RAY))


@with_ray
def test_nothing_listens_but_on_the_loopback_interface(ray: Any) -> None:
    heard = set()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # Ray starts and ends helpers as it likes
            heard |= {c.laddr.ip for c in process.net_connections() if c.status == psutil.CONN_LISTEN}
    assert heard
    assert heard <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
