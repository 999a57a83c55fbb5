"""What was found, in a JSON that is there as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from radrl.storage.whole_files import whole_file


def write(file: Path, found: Mapping[str, Any]) -> None:
    """Write findings, then rename; what is no number is refused, since JSON has no word for it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=1, allow_nan=False) + "\n"
    with whole_file(file) as stream:
        stream.write(text.encode())


def read(file: Path) -> dict[str, Any]:
    """Findings; none where there is no file yet."""
    if not file.is_file():
        return {}
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def of_part(name: str) -> str:
    """The file below the folder of policies that a part keeps its findings in."""
    return f"found-{name}.json"
