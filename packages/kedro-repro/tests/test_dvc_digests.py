"""Digests of the record are DVC's, taken once for both; where DVC has none they are SHA-256 and say so."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.repo import Repo

from kedro_repro.dvc_digests import ByDvc, Digest, by_sha256


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A DVC project with a corpus of two shards, and with a memory of its own."""
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site"))
    for name in ("DVC_ROOT", "DVC_STAGE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    (folder / "corpus" / "deep").mkdir(parents=True)
    (folder / "corpus" / "a").write_bytes(b"films")
    (folder / "corpus" / "deep" / "b").write_bytes(b"reports")
    Repo.init(str(folder), no_scm=True).close()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, DVC's hashing of a file is an error, as is ours."""

    def refuse(*values: Any, **named: Any) -> Any:
        raise AssertionError(f"read again: {values[:1]}")

    def forbid() -> None:
        monkeypatch.setattr("dvc_data.hashfile.build.hash_file", refuse)
        monkeypatch.setattr("kedro_repro.dvc_digests.by_sha256", refuse)

    return forbid


def recorded(project: Path, name: str) -> str:
    """What DVC wrote down."""
    value: str = yaml.safe_load((project / f"{name}.dvc").read_text())["outs"][0]["md5"]
    return value


def test_what_dvc_has_hashed_is_not_read_again(project: Path, unread: Callable[[], None]) -> None:
    with Repo(str(project)) as repo:
        repo.add("corpus")
    unread()
    assert ByDvc(project)(Path("corpus")) == Digest("md5", recorded(project, "corpus"))
    assert recorded(project, "corpus").endswith(".dir")


def test_what_the_record_has_hashed_dvc_does_not_read_again(
    project: Path, unread: Callable[[], None]
) -> None:
    digest = ByDvc(project)(Path("corpus"))
    unread()
    with Repo(str(project)) as repo:
        repo.add("corpus")
    assert digest == Digest("md5", recorded(project, "corpus"))


@pytest.mark.parametrize("keep", ["time", "size"])
def test_what_has_changed_since_is_hashed_anew(project: Path, keep: str) -> None:
    file = project / "table.csv"
    file.write_bytes(b"label")
    with Repo(str(project)) as repo:
        repo.add("table.csv")
    digest, before = ByDvc(project), file.stat()
    assert digest(file).value == hashlib.md5(b"label").hexdigest()
    file.unlink()  # DVC's cache may be the same file
    file.write_bytes(b"lebal" if keep == "size" else b"labels")
    if keep == "time":
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digest(file).value == hashlib.md5(file.read_bytes()).hexdigest() != recorded(project, "table.csv")


def test_without_dvc_a_digest_is_ours(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "weights"
    outside.write_bytes(b"1")
    assert ByDvc(project)(outside) == by_sha256(outside)
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "corpus").write_bytes(b"films")
    assert ByDvc(plain)(plain / "corpus") == by_sha256(plain / "corpus")


def test_what_dvc_is_told_to_ignore_does_not_look_empty(project: Path) -> None:
    (project / ".dvcignore").write_text("corpus\n")
    assert ByDvc(project)(Path("corpus")) == by_sha256(project / "corpus")


def test_a_machine_that_lets_dvc_note_nothing_leaves_a_digest_all_the_same(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert ByDvc(project)(Path("corpus")) == by_sha256(project / "corpus")
