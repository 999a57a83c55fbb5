"""What `mend` does to each of DVC's own files, in a folder that has them and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from kedro_repro import dvc_repair as mending
from kedro_repro.dvc_repair import BrokenLock, mend, whole

HEAD = "schema: '2.0'\nstages:\n"
FIRST = f"  a:\n    cmd: one\n    outs:\n    - path: x\n      hash: md5\n      md5: {'0a' * 16}\n"
SECOND = (
    f"  b@c:\n    cmd: [one, two]\n    deps:\n    - path: y\n      hash: md5\n      md5: {'f' * 32}.dir\n"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".dvc/tmp").mkdir(parents=True)
    monkeypatch.setattr(mending, "cache_folder", lambda root: root / "cache")
    return tmp_path


def test_nothing_to_mend_in_a_folder_without_dvcs_files(project: Path) -> None:
    assert mend(project) == []


@pytest.mark.parametrize(
    "text",
    [
        HEAD + FIRST + SECOND,
        "schema: '2.0'\n",
        HEAD + "  a:\n    cmd: one\n    deps:\n    - path: y\n      hash: other\n      md5: none\n",
        HEAD + "  a:\n    cmd: one\n    deps:\n    - path: y\n",
    ],
)
def test_whole(text: str) -> None:
    assert whole(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "schema: '2.0'",  # no end of the line
        "stages: {}\n",  # no schema
        "- schema\n",
        "schema: '2.0'\nstages: 1\n",
        HEAD + "  a: 1\n",
        HEAD + "  a:\n    outs: []\n",  # no command
        HEAD + "  a:\n    cmd: 1\n",
        HEAD + "  a:\n    cmd: one\n    outs: x\n",
        HEAD + "  a:\n    cmd: one\n    deps:\n    - x\n",
        HEAD + "  a:\n    cmd: one\n    deps:\n    - hash: md5\n",  # no path
        HEAD + "  a:\n    cmd: one\n    deps:\n    - path: 1\n",
        HEAD + "  a:\n    cmd: one\n    outs:\n    - path: x\n      hash: md5\n",  # no digest
        HEAD + f"  a:\n    cmd: one\n    outs:\n    - path: x\n      hash: md5\n      md5: {'a' * 31}\n",
        HEAD + f"  a:\n    cmd: one\n    outs:\n    - path: x\n      hash: md5\n      md5: {'a' * 33}\n",
        HEAD + "  a: [\n",
    ],
)
def test_not_whole(text: str) -> None:
    assert not whole(text)


@pytest.mark.parametrize(
    ("text", "left", "kept"),
    [
        ("", None, 0),
        ("sche", None, 0),
        (HEAD + FIRST[:-1], None, 0),
        (HEAD + FIRST + SECOND[:-8], HEAD + FIRST, 1),
        (HEAD + FIRST + SECOND + "  d:\n    cm", HEAD + FIRST + SECOND, 2),
    ],
)
def test_of_a_lock_that_was_cut_off_whole_stages_stay(
    project: Path, text: str, left: str | None, kept: int
) -> None:
    (project / "dvc.lock").write_text(text)
    (said,) = mend(project)
    assert f": {kept} of its stages are kept" in said
    file = project / "dvc.lock"
    assert (file.read_text() if file.exists() else None) == left
    assert mend(project) == []


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("  <<<:\n    - [\n", "in line 6"),  # counted from 1; a list may hold `a:`, but nothing behind it
        ("  e:\n    outs: []\n", "a stage lacks its command, or a file its digest"),
    ],
)
def test_a_lock_that_is_broken_before_its_end_is_left_as_it_is(project: Path, broken: str, why: str) -> None:
    text = HEAD + broken + FIRST + SECOND[:-8]
    (project / "dvc.lock").write_text(text)
    with pytest.raises(BrokenLock, match="broken, and not only at its end") as caught:
        mend(project)
    assert why in str(caught.value)
    assert (project / "dvc.lock").read_text() == text


def note(project: Path, text: str) -> Path:
    file = project / ".dvc/tmp/rwlock"
    file.write_text(text)
    return file


def test_note_that_was_cut_off_is_removed_and_said(project: Path) -> None:
    file = note(project, '{"write": {')
    (said,) = mend(project)
    assert said.startswith(".dvc/tmp/rwlock was cut off")
    assert not file.exists()


ME = {"pid": os.getpid(), "cmd": "dvc repro"}
NOBODY = {"pid": 2**22 + 1, "cmd": "dvc repro"}  # above what Linux gives


@pytest.mark.parametrize(
    ("noted", "stays"),
    [
        ({}, True),
        ({"write": {"x": ME}}, True),
        ({"read": {"x": [ME]}}, True),
        ({"write": {"x": NOBODY}}, False),
        ({"read": {"x": [NOBODY]}}, False),
        ({"write": {"x": NOBODY}, "read": {"y": [NOBODY, ME]}}, True),
    ],
)
def test_note_stays_as_long_as_one_of_its_processes_lives(
    project: Path, noted: dict[str, object], stays: bool
) -> None:
    file = note(project, json.dumps(noted))
    assert mend(project) == []
    assert file.exists() == stays


def test_note_of_a_number_that_another_process_has_by_now_is_removed(project: Path) -> None:
    file = note(project, json.dumps({"write": {"x": ME}}))
    os.utime(file, (0, 0))  # long before this process began
    assert mend(project) == []
    assert not file.exists()


def test_folders_without_a_note_are_removed_once_they_are_old(project: Path) -> None:
    runs = project / "cache/runs/00"
    for name, age in (("empty", 11), ("young", 5), ("full", 11)):
        (runs / name).mkdir(parents=True)
        if name == "full":
            (runs / name / "note").touch()
        at = time.time() - age
        os.utime(runs / name, (at, at))
    (said,) = mend(project)
    assert said == f"empty folders, as kills leave them, are removed from {project / 'cache/runs'}: 1"
    assert sorted(folder.name for folder in runs.iterdir()) == ["full", "young"]


def test_list_that_is_not_what_its_name_says_is_removed_and_named(project: Path) -> None:
    objects = project / "cache/files/md5"
    digest = hashlib.md5(b"[]", usedforsecurity=False).hexdigest()
    files = {name: objects / digest[:2] / (digest[2:] + name) for name in (".dir", "")}
    broken = objects / "00" / ("0" * 30 + ".dir")
    for file in (*files.values(), broken):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"[]")
    files[""].write_bytes(b"no list, and looked at when it is restored")
    (said,) = mend(project)
    assert said.startswith(f"{broken} was not what its name says")
    assert not broken.exists()
    assert all(file.exists() for file in files.values())
