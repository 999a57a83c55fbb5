"""What a kill leaves on the disk: found by its lock, and removed by the next process that writes there."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from radrl.storage.whole_files import PREFIX, replacing, temporary_folder, whole_file

LONG_AGO = (0, 0)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """A folder whose process lives."""
    folder = tmp_path / f"{PREFIX}held"
    folder.mkdir()
    opened = os.open(folder, os.O_RDONLY)
    fcntl.flock(opened, fcntl.LOCK_EX)
    os.utime(folder, LONG_AGO)
    yield folder
    os.close(opened)


def test_a_temporary_folder_ends_with_its_block_and_is_its_own(temporary: Path) -> None:
    with temporary_folder() as one, temporary_folder() as other:
        assert one != other
        os.utime(one, LONG_AGO)
        with temporary_folder():
            assert one.is_dir()
    assert list(temporary.iterdir()) == []


def test_folders_of_processes_that_were_killed_are_removed_and_no_others(temporary: Path, held: Path) -> None:
    left, young, strange = (temporary / name for name in (f"{PREFIX}left", f"{PREFIX}young", "other.left"))
    for folder in (left, young, strange):
        folder.mkdir()
    (left / "socket").touch()
    os.utime(left, LONG_AGO)
    os.utime(strange, LONG_AGO)
    with temporary_folder():
        assert not left.exists()
        assert all(folder.is_dir() for folder in (held, young, strange))


def test_the_parts_that_kills_left_of_a_file_are_removed_when_it_is_written(tmp_path: Path) -> None:
    left, young = tmp_path / ".table.csv.1.partial", tmp_path / ".table.csv.2.partial"
    others = tmp_path / ".other.csv.1.partial"
    for file in (left, young, others):
        file.write_text("hal")
    for file in (left, others):
        os.utime(file, LONG_AGO)
    with whole_file(tmp_path / "table.csv") as stream:
        stream.write(b"whole")
    assert (tmp_path / "table.csv").read_bytes() == b"whole"
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", young.name, others.name}


def replace_in_vain(folder: Path) -> None:
    with replacing(folder) as new:
        (new / "new").touch()
        raise OSError("full")


def write_in_vain(file: Path) -> None:
    with whole_file(file) as stream:
        stream.write(b"new")
        raise OSError("full")


def test_what_fails_leaves_nothing_and_the_old_stays(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").touch()
    (tmp_path / "file").write_text("old")
    with pytest.raises(OSError, match="full"):
        replace_in_vain(tmp_path / "folder")
    with pytest.raises(OSError, match="full"):
        write_in_vain(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "old"
    assert {path.name for path in tmp_path.rglob("*")} == {"folder", "old", "file"}
