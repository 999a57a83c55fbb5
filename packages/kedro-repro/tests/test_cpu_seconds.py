"""What stages cost is noted by kind, and told by group."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kedro_repro import cpu_seconds


def test_both_kinds_of_a_stage_count_and_the_last_note_stands(tmp_path: Path) -> None:
    folder = tmp_path / "costs"
    assert cpu_seconds.read(folder) == {}
    cpu_seconds.note(folder, "label", {cpu_seconds.OWN: 9.0})
    cpu_seconds.note(folder, "label", {cpu_seconds.OWN: 2.0, cpu_seconds.DVC: 0.5})
    cpu_seconds.note(folder, "train@grpo", {cpu_seconds.OWN: 60.0})
    assert cpu_seconds.read(folder) == {"label": 2.5, "train@grpo": 60.0}


def test_what_was_noted_before_is_not_of_this_run(tmp_path: Path) -> None:
    cpu_seconds.note(tmp_path, "label", {cpu_seconds.OWN: 2.0})
    noted = (tmp_path / "label.json").stat().st_mtime_ns
    assert cpu_seconds.cost_of_stage(tmp_path, "label", since=noted) == {cpu_seconds.OWN: 2.0}
    assert cpu_seconds.cost_of_stage(tmp_path, "label", since=noted + 1) == {}


def test_a_child_that_has_ended_counts() -> None:
    before = cpu_seconds.used()
    os.waitpid(
        os.spawnlp(os.P_NOWAIT, "sh", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"), 0
    )
    assert cpu_seconds.used() - before > 0.01


def test_groups_are_summed_the_most_first() -> None:
    seconds = {"code": 1.5, "eval@base": 30.0, "eval@grpo": 45.0, "train@grpo": 600.0}
    assert cpu_seconds.minutes(seconds) == pytest.approx({"train": 10.0, "eval": 1.25, "code": 0.025})
    assert list(cpu_seconds.minutes(seconds)) == ["train", "eval", "code"]
