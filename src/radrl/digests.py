"""SHA-256 of files and folders, read in pieces so that weights of any size fit, and of parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


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


def of_parameters(values: Mapping[str, Any]) -> str:
    """Digest parameters, whatever the order of their keys.

    Args:
        values: what JSON can hold.

    Returns:
        A hexadecimal digest.
    """
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
