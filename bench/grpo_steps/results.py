"""Measured cells, one line each in a file, so that a killed run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Key = tuple[int, int, int, str, int]
"""Size, group, tokens, way and round."""


class Results:
    """What has been measured.

    Args:
        file: where it is kept.
        about: what figures depend on: versions, numbers of steps and films, the policy.
        resume: go on with the file there is, if there is one; otherwise it is begun anew.

    Raises:
        ValueError: when the file to go on with is of other figures.
    """

    def __init__(self, file: Path, about: Mapping[str, Any], *, resume: bool) -> None:
        self.file = file
        self.found: dict[Key, dict[str, Any]] = {}
        file.parent.mkdir(parents=True, exist_ok=True)
        if not (resume and file.is_file()):
            file.write_text(json.dumps(about) + "\n")
            return
        first, *rows = (json.loads(line) for line in file.read_text().splitlines())
        if first != json.loads(json.dumps(about)):
            raise ValueError(f"{file} was measured with {first}, not {about}; go on without --resume")
        self.found = {tuple(row["key"]): row for row in rows}

    def add(self, key: Key, found: Mapping[str, Any]) -> None:
        """Keep what was found."""
        self.found[key] = {"key": key, **found}
        with self.file.open("a") as file:
            file.write(json.dumps(self.found[key]) + "\n")
