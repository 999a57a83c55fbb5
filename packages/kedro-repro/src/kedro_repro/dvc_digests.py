"""Digests of artifacts for the record: DVC's own in a DVC project, so that a file is read once for both."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dvc.repo import Repo

LONGEST = 36
"""Characters that MLflow allows a digest."""


class Digest(NamedTuple):
    """A digest and how it was taken.

    Args:
        kind: `md5` as in dvc.lock, or `sha256` of bytes, of a folder with names.
        value: hexadecimal; DVC's of a folder ends in `.dir`.
    """

    kind: str
    value: str

    @property
    def short(self) -> str:
        """As MLflow's column holds it: all of an MD5, 116 bits of a SHA-256.

        Example:
            >>> Digest("md5", "0123456789abcdef0123456789abcdef.dir").short
            'md5:0123456789abcdef0123456789abcdef'
        """
        return f"{self.kind}:{self.value.removesuffix('.dir')}"[:LONGEST]


Digester = Callable[[Path], Digest]


def by_sha256(path: Path) -> Digest:
    """Read all of a file, or the names and bytes of all files of a folder."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            if path.is_dir():
                digest.update(file.relative_to(path).as_posix().encode())
            with file.open("rb") as stream:
                while chunk := stream.read(1 << 20):
                    digest.update(chunk)
    return Digest("sha256", digest.hexdigest())


class ByDvc:
    """Takes digests as DVC does, and from what DVC remembers.

    DVC notes the MD5 of each file it has hashed with the file's inode, time and size. A file that is still
    the same by these three is not read again, here or there; any other is read, and noted for DVC, which
    looks at a stage's outputs after this process has written them.

    Args:
        root: the project's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def __call__(self, path: Path) -> Digest:
        """DVC's digest of what lies in its project, SHA-256 of anything else."""
        absolute = path.absolute()
        if not absolute.is_relative_to(self._root) or not (self._root / ".dvc").is_dir():
            return by_sha256(path)
        from dvc.exceptions import DvcException
        from dvc_data.hashfile.build import IgnoreInCollectedDirError

        try:
            found = self._md5(absolute)
        # what DVC cannot hash, or not note on this machine, has a digest all the same
        except (DvcException, IgnoreInCollectedDirError, OSError, sqlite3.Error):
            found = None
        return Digest("md5", found) if found else by_sha256(path)

    def runs(self) -> Path | None:
        """The folder of DVC's records of earlier runs; nothing where there is no DVC."""
        return Path(self._repo.stage_cache.cache_dir) if (self._root / ".dvc").is_dir() else None

    @cached_property
    def _repo(self) -> Repo:
        from dvc.repo import Repo

        return Repo(str(self._root))

    def _md5(self, path: Path) -> str | None:
        from dvc_data.hashfile.build import build

        cache, ignore = self._repo.cache.local, self._repo.dvcignore
        if ignore.is_ignored(cache.fs, str(path)):  # it would look empty
            return None
        _, _, found = build(cache, str(path), cache.fs, "md5", dry_run=True, ignore=ignore)
        return str(found.hash_info.value)
