"""Outputs held against dvc.lock, in a folder with a lock, outputs and a cache."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from kedro_repro import restored_outputs as restored
from kedro_repro.dvc_repair import BrokenLock
from kedro_repro.restored_outputs import take_away_broken, was_restored, was_skipped


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def keep(project: Path, digest: str, data: bytes) -> Path:
    """Put an object into the cache."""
    file = project / "cache/files/md5" / digest[:2] / digest[2:]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stage with a file, a folder of two, and an output that DVC does not keep."""
    monkeypatch.setattr(restored, "cache_folder", lambda root: root / "cache")
    (tmp_path / "folder/deep").mkdir(parents=True)
    contents = {"file": b"one", "folder/two": b"two", "folder/deep/three": b"three"}
    for path, data in contents.items():
        (tmp_path / path).write_bytes(data)
        keep(tmp_path, md5(data), data)
    listed = json.dumps(
        [{"md5": md5(b"two"), "relpath": "two"}, {"md5": md5(b"three"), "relpath": "deep/three"}]
    ).encode()
    keep(tmp_path, f"{md5(listed)}.dir", listed)
    outs = [
        {"path": "file", "hash": "md5", "md5": md5(b"one")},
        {"path": "folder", "hash": "md5", "md5": f"{md5(listed)}.dir"},
        {"path": "elsewhere", "hash": "etag"},
    ]
    lock = {"schema": "2.0", "stages": {"a": {"cmd": "x", "outs": outs}, "b": {"cmd": "x"}}}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(lock))
    return tmp_path


def test_whole_outputs_stay(project: Path) -> None:
    assert take_away_broken(project, "a") == take_away_broken(project, "b") == ""
    assert (project / "file").exists()
    assert (project / "folder/deep/three").exists()


@pytest.mark.parametrize("broken", ["file", "folder/two", "folder/deep/three"])
def test_broken_output_and_its_object_are_removed_with_all_that_the_stage_made(
    project: Path, broken: str
) -> None:
    held = (project / broken).read_bytes()
    (project / broken).write_bytes(b"other")
    kept = keep(project, md5(held), b"other")
    said = take_away_broken(project, "a")
    assert said.startswith(f"what DVC restored of a was broken and is made anew: {broken}. An object")
    assert not (project / "file").exists()
    assert not (project / "folder").exists()
    assert not kept.exists()
    others = [path for path in (project / "cache").rglob("*") if path.is_file()]
    assert len(others) == 3  # of four: whole ones are not looked for elsewhere


def test_output_that_is_broken_alone_leaves_the_whole_object(project: Path) -> None:
    (project / "file").unlink()
    kept = keep(project, md5(b"one"), b"one")
    assert ": file. " in take_away_broken(project, "a")
    assert kept.read_bytes() == b"one"


def test_object_that_is_gone_is_no_error(project: Path) -> None:
    (project / "folder/two").write_bytes(b"other")
    (project / "file").write_bytes(b"other")
    keep(project, md5(b"two"), b"").unlink()
    assert ": file, folder/two. " in take_away_broken(project, "a")


def test_lock_that_is_being_written_is_waited_for_and_then_given_up(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "dvc.lock"
    text, slept = file.read_text(), []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            file.write_text(text)

    monkeypatch.setattr(restored.time, "sleep", sleep)
    file.write_text(text[:-1])
    assert take_away_broken(project, "a") == ""
    assert slept == [0.1] * 3  # a tenth of a second from one look to the next

    clock = iter([0.0, 59.0, 61.0])
    monkeypatch.setattr(restored.time, "monotonic", lambda: next(clock))
    with pytest.raises(BrokenLock, match=r"dvc\.lock holds no entry of other, which DVC has just restored"):
        take_away_broken(project, "other")


def test_what_dvc_prints_tells_restored_from_skipped(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"Stage 'a' is cached - skipping run, checking out outputs\n\xff")
    assert (was_restored(log), was_skipped(log)) == (True, False)
    log.write_text("Stage 'a' didn't change, skipping\n")
    assert (was_restored(log), was_skipped(log)) == (False, True)
