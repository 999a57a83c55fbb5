"""Shards in this process and in several: the same results, also where a worker is killed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import shared_work
from shared_work import times_done, work

from radrl.mapping.engines import Work, WorkerDied, mapped

SHARDS = range(12)
SQUARES = [n * n for n in SHARDS]
ONE = {"engine": "local", "workers": 1}
TWO = {"engine": "local", "workers": 2}


@pytest.mark.parametrize("compute", [None, ONE, TWO], ids=["none", "one", "two"])
def test_every_shard_is_done_once_and_in_order(tmp_path: Path, compute: dict[str, int] | None) -> None:
    assert list(mapped(work(tmp_path), SHARDS, compute)) == SQUARES
    assert times_done(tmp_path) == dict.fromkeys(SHARDS, 1)


def test_a_state_is_opened_once_a_worker_and_closed_at_the_end(tmp_path: Path) -> None:
    list(mapped(work(tmp_path, shared_work.rank), SHARDS, TWO))
    opened = {file.name.partition("-")[2] for file in tmp_path.glob("opened-*")}
    closed = {file.name.partition("-")[2] for file in tmp_path.glob("closed-*")}
    assert len(opened) == 2
    assert str(os.getpid()) not in opened
    assert closed == opened


def test_one_process_makes_results_as_they_are_asked_for(tmp_path: Path) -> None:
    results = mapped(work(tmp_path), SHARDS)
    assert next(results) == 0
    assert list(times_done(tmp_path)) == [0]
    assert len(list(tmp_path.glob("closed-*"))) == 0
    results.close()
    assert len(list(tmp_path.glob("closed-*"))) == 1


def test_nothing_is_opened_without_a_shard(tmp_path: Path) -> None:
    assert list(mapped(work(tmp_path), [], TWO)) == []
    assert not list(tmp_path.iterdir())


def test_of_results_that_nobody_asks_for_few_are_made(tmp_path: Path) -> None:
    results = mapped(work(tmp_path), range(100), TWO)
    next(results)
    results.close()
    assert len(times_done(tmp_path)) <= 5


@pytest.mark.parametrize("victim", [0, 5, 11])
def test_a_killed_worker_loses_nothing_and_nothing_comes_twice(tmp_path: Path, victim: int) -> None:
    (tmp_path / f"kill-{victim}").touch()
    assert list(mapped(work(tmp_path, shared_work.square_or_die), SHARDS, TWO)) == SQUARES
    assert not (tmp_path / f"kill-{victim}").exists()
    assert sorted(times_done(tmp_path)) == list(SHARDS)


def test_one_of_two_workers_killed_from_outside(tmp_path: Path) -> None:
    results = mapped(work(tmp_path), range(40), TWO)
    found = [next(results)]
    for process in psutil.Process().children(recursive=True):
        if (tmp_path / f"opened-{process.pid}").exists():
            process.kill()
            break
    else:
        raise AssertionError("no worker found")
    assert found + list(results) == [n * n for n in range(40)]


def test_a_shard_that_kills_every_worker_ends_the_work(tmp_path: Path) -> None:
    with pytest.raises(WorkerDied, match=r"squares: 4 workers of the local engine died .* compute\.workers"):
        list(mapped(work(tmp_path, shared_work.die), SHARDS, TWO))


@pytest.mark.parametrize("compute", [None, TWO], ids=["one", "two"])
def test_an_error_of_the_work_is_its_own(tmp_path: Path, compute: dict[str, int] | None) -> None:
    with pytest.raises(LookupError, match="no shard 0"):
        list(mapped(work(tmp_path, shared_work.refuse), SHARDS, compute))
    unopened: Work[None, int, int] = Work("squares", shared_work.unopened, shared_work.refuse)
    with pytest.raises(LookupError, match="no model"):
        list(mapped(unopened, SHARDS, compute))


def test_workers_on_accelerators_are_numbered(tmp_path: Path) -> None:
    numbered = work(tmp_path, shared_work.rank)
    assert {*mapped(numbered, range(8), TWO, device="cuda")} == {("0", "2"), ("1", "2")}
    assert {*mapped(numbered, range(2), TWO)} == {(None, None)}


def test_workers_end_with_a_killed_parent(
    tmp_path: Path, start_python: Callable[[str], psutil.Popen]
) -> None:
    parent = start_python(
        "from pathlib import Path; from shared_work import work; from radrl.mapping.engines import mapped\n"
        f"for n in mapped(work(Path({str(tmp_path)!r})), range(10000), {TWO!r}): print(n, flush=True)"
    )
    assert parent.stdout.readline() == b"0\n"
    children = parent.children(recursive=True)
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(children, timeout=20)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    assert not alive
