"""What is taken out of dvc.lock and of DVC's records, with files as DVC writes them and no DVC."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
import yaml

from kedro_repro.false_records import find, take_out, taken_out_message
from kedro_repro.run_records import RunRecord, notes

RUNS = ".dvc/cache/runs"


def record(n: int, md5: str, out: str = "a") -> dict[str, object]:
    """An entry of a stage that was run with `n`."""
    return {"cmd": "x", "params": {"params.yaml": {"n": n}}, "outs": [{"path": out, "md5": md5}]}


def lock(project: Path, **stages: dict[str, object]) -> Path:
    file = project / "dvc.lock"
    file.write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}, sort_keys=False))
    return file


def ran(project: Path, n: int, md5: str, stage: str = "a", runs: str = RUNS) -> None:
    """A run of a stage, of which nobody has looked whether it was written down."""
    RunRecord(stage, f"n: {n}\n", "", [], {stage: md5}, runs).write(project)


def kept(project: Path, name: str, entry: object, age: float = 0) -> Path:
    """A record of an earlier run, some seconds old."""
    file = project / RUNS / "0" / "1" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(entry if isinstance(entry, str) else json.dumps(entry))
    at = time.time() - age
    os.utime(file, (at, at))
    return file


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path


def stages(project: Path) -> list[str]:
    return [*yaml.safe_load((project / "dvc.lock").read_text())["stages"]]


def test_nothing_is_looked_at_where_no_stage_has_ended(project: Path) -> None:
    assert take_out(project) == find(project) == {}
    assert [*project.iterdir()] == []  # not even DVC's lock is taken


def test_untrue_entries_go_and_the_others_stay(project: Path) -> None:
    lock(project, a=record(2, "00"), b=record(1, "11", "b"), c=record(1, "22", "c"))
    ran(project, 1, "00")
    ran(project, 1, "11", "b")
    assert take_out(project) == {"a": taken_out_message("a", ["n"])}
    assert stages(project) == ["b", "c"]
    assert [*notes(project)] == []


def test_what_would_go_is_found_and_stays(project: Path) -> None:
    file = lock(project, a=record(2, "00"), b=record(1, "11", "b"))
    ran(project, 1, "00")
    ran(project, 1, "11", "b")
    before = file.read_text()
    assert [*find(project)] == ["a"]
    assert find(project)["a"].startswith("dvc.lock says of a what did not run: n changed before")
    assert file.read_text() == before
    assert len([*notes(project)]) == 2
    file.unlink()
    assert find(project) == {}


def test_lock_without_an_entry_left_goes_itself(project: Path) -> None:
    file = lock(project, a=record(2, "00"))
    ran(project, 1, "00")
    assert [*take_out(project)] == ["a"]
    assert not file.exists()


def test_several_entries_go_at_once(project: Path) -> None:
    lock(project, a=record(2, "00"), b=record(2, "11", "b"), c=record(1, "22", "c"))
    ran(project, 1, "00")
    ran(project, 1, "11", "b")
    assert [*take_out(project)] == ["a", "b"]
    assert stages(project) == ["c"]


def test_of_several_runs_one_as_recorded_is_enough(project: Path) -> None:
    lock(project, a=record(2, "00"))
    for n in (1, 2, 3):  # all made the same
        ran(project, n, "00")
    assert take_out(project) == {}


def test_of_several_runs_the_last_one_is_said(project: Path) -> None:
    lock(project, a=record(2, "00"))
    for text in ("n: 1\nm: 1\n", "n: {m: 1}\n"):
        RunRecord("a", text, "", [], {"a": "00"}, "").write(project)
    entry = {"cmd": "x", "params": {"params.yaml": {"n": {"m": 2}}}, "outs": [{"path": "a", "md5": "00"}]}
    lock(project, a=entry, b=record(1, "11", "b"))
    assert take_out(project) == {"a": taken_out_message("a", ["n.m"])}  # of the first it would be n


def test_other_outputs_are_of_another_time(project: Path) -> None:
    lock(project, a=record(2, "99"))
    ran(project, 1, "00")
    assert take_out(project) == {}
    assert stages(project) == ["a"]


def test_only_the_stage_asked_for_is_looked_at(project: Path) -> None:
    lock(project, a=record(2, "00"), b=record(2, "11", "b"))
    ran(project, 1, "00")
    ran(project, 1, "11", "b")
    assert [*take_out(project, "b")] == ["b"]
    assert stages(project) == ["a"]
    assert [one.stage for _, one in notes(project)] == ["a"]


def test_untrue_records_go_with_their_folder_and_true_ones_stay(project: Path) -> None:
    ran(project, 1, "00")
    untrue = kept(project, "untrue", record(2, "00"))
    assert take_out(project) == {}
    assert not untrue.parent.exists()

    ran(project, 1, "00")
    untrue = kept(project, "untrue", record(2, "00"))
    true = kept(project, "true", record(1, "00"))
    other = kept(project, "other", record(2, "99"))
    broken = kept(project, "broken", "a: [")
    unfinished = kept(project, "half.tmp", record(2, "00"))
    assert take_out(project) == {}
    assert [file.exists() for file in (untrue, true, other, broken, unfinished)] == [False] + [True] * 4


@pytest.mark.parametrize(("age", "stays"), [(290, False), (310, True)])
def test_records_of_five_minutes_before_the_run_are_of_others(project: Path, age: float, stays: bool) -> None:
    ran(project, 1, "00")
    file = kept(project, "untrue", record(2, "00"), age)
    take_out(project)
    assert file.exists() == stays


def test_run_that_knows_no_folder_of_records_leaves_them_alone(project: Path) -> None:
    ran(project, 1, "00", runs="")
    file = kept(project, "untrue", record(2, "00"))
    (project / "0" / "1").mkdir(parents=True)
    (project / "0" / "1" / "untrue").write_text(json.dumps(record(2, "00")))
    take_out(project)
    assert file.exists()
    assert (project / "0" / "1" / "untrue").exists()


def test_what_is_written_just_now_is_looked_at_later(project: Path) -> None:
    lock(project, a=record(2, "00"))
    ran(project, 1, "00")
    used = project / ".dvc/tmp/rwlock"
    used.parent.mkdir(parents=True)
    used.write_text(json.dumps({"write": {str(project / "a"): {"pid": os.getpid()}}}))
    assert take_out(project) == {}
    assert stages(project) == ["a"]
    used.unlink()
    assert [*take_out(project)] == ["a"]


def test_lock_that_was_cut_off_is_not_touched(project: Path) -> None:
    file = lock(project, a=record(2, "00"))
    text = file.read_text()[:-1]
    file.write_text(text)
    ran(project, 1, "00")
    assert take_out(project) == {}
    assert file.read_text() == text
    assert len([*notes(project)]) == 1
