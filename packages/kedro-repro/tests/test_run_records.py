"""Notes of what ran: written side by side, and read in the order in which stages ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedro_repro import run_records as module
from kedro_repro.run_records import FOLDER, RunRecord, notes


def ran(stage: str) -> RunRecord:
    return RunRecord(stage, "n: 1\n", "1f", ["given"], {"out": "00"}, "runs")


def test_a_note_says_what_ran(tmp_path: Path) -> None:
    for _ in range(2):  # where the folder is not there, and where it is
        ran("train@grpo").write(tmp_path)
    assert [note for _, note in notes(tmp_path)] == [ran("train@grpo")] * 2


def test_notes_come_in_the_order_in_which_stages_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # names, and numbers of processes, fall; the first time has a digit less
    for stage, at, process in (("c", 9, 30), ("b", 10, 20), ("a", 11, 10)):
        monkeypatch.setattr(module.time, "time_ns", lambda at=at: at)
        monkeypatch.setattr(module.os, "getpid", lambda process=process: process)
        ran(stage).write(tmp_path)
    assert [note.stage for _, note in notes(tmp_path)] == ["c", "b", "a"]


def test_notes_of_one_stage_alone(tmp_path: Path) -> None:
    for stage in ("train@a", "train@a[1]", "train@ab", "train@a"):
        ran(stage).write(tmp_path)
    assert [note.stage for _, note in notes(tmp_path, "train@a")] == ["train@a"] * 2
    assert [note.stage for _, note in notes(tmp_path, "train@a[1]")] == ["train@a[1]"]
    (tmp_path / FOLDER / ".train@a.1.partial").touch()  # of a kill
    assert len([*notes(tmp_path)]) == 4
