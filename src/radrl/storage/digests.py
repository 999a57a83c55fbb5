"""SHA-256 of files and folders, read in pieces so that weights of any size fit."""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256(path: Path, *, seed: bytes = b"") -> str:
    """Digest a file's bytes, or the names and bytes of all files of a folder; times do not count.

    Args:
        path: a file or a folder.
        seed: bytes that come first, for a digest of more than the path.

    Returns:
        A hexadecimal digest.
    """
    digest = hashlib.sha256(seed)
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            if path.is_dir():
                digest.update(file.relative_to(path).as_posix().encode())
            with file.open("rb") as stream:
                while chunk := stream.read(1 << 20):
                    digest.update(chunk)
    return digest.hexdigest()
