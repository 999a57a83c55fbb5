"""One stage's entry of dvc.lock, as DVC itself writes and reads it."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from pathlib import Path

import pytest

from kedro_repro.dvc_lock import entries, entry, locked, without, written_now

LOCK = """\
schema: '2.0'
stages:
  code:
    cmd: radrl code
  train@deer:
    cmd: kedro run
    params:
      params.yaml:
        rate: 1e-05
        text: "line\\n  a:\\n"
        on: yes
  eval@deer:
    cmd: kedro run
"""


def test_entries_are_told_apart_by_their_indentation() -> None:
    assert [*entries(LOCK)] == ["code", "train@deer", "eval@deer"]
    assert "".join(entries(LOCK).values()) == LOCK.partition("stages:\n")[2]
    assert entries("schema: '2.0'\n") == entries("") == {}


def test_values_are_read_as_dvc_reads_them() -> None:
    """By YAML 1.2: a number without a point, and words that are no truth values."""
    read = entry(LOCK, "train@deer")
    assert read is not None
    assert read["params"]["params.yaml"] == {"rate": 1e-05, "text": "line\n  a:\n", "on": "yes"}
    assert entry(LOCK, "train") is None


def test_all_other_lines_stay_where_one_is_taken_out() -> None:
    left = without(LOCK, "train@deer")
    assert left == "schema: '2.0'\nstages:\n  code:\n    cmd: radrl code\n  eval@deer:\n    cmd: kedro run\n"
    assert without(without(left, "code"), "eval@deer") == ""


def test_dvc_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    entered = threading.Event()

    def enter() -> None:
        with locked(tmp_path):
            entered.set()

    with (tmp_path / ".dvc/tmp/lock").open("w") as dvc:
        fcntl.flock(dvc, fcntl.LOCK_EX)
        waiting = threading.Thread(target=enter)
        waiting.start()
        assert not entered.wait(0.2)
    waiting.join()
    assert entered.is_set()


def test_lock_is_the_one_that_dvc_takes(tmp_path: Path) -> None:
    from dvc.lock import LockError, make_lock

    with locked(tmp_path):
        lock = make_lock(str(tmp_path / ".dvc/tmp/lock"), tmp_dir=str(tmp_path / ".dvc/tmp"))
        with pytest.raises(LockError):
            lock._do_lock()


def test_outputs_that_a_process_writes_are_known_by_their_paths(tmp_path: Path) -> None:
    used = tmp_path / ".dvc/tmp/rwlock"
    assert written_now(tmp_path) == set()
    used.parent.mkdir(parents=True)
    own, gone = {"pid": os.getpid(), "cmd": ""}, {"pid": 2**22 + 1, "cmd": ""}
    written = {str(tmp_path / "data/a"): own, str(tmp_path / "data/b"): gone, "/elsewhere": own}
    used.write_text(json.dumps({"write": written, "read": {str(tmp_path / "data/c"): [own]}}))
    assert written_now(tmp_path) == {"data/a"}
    used.write_text('{"write"')
    assert written_now(tmp_path) == set()
