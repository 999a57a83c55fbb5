"""The source `csv`: a table of films and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from radrl.data.sources.base import Source
from radrl.parts.section import LocalPath, Section, takes


class CsvSection(Section):
    """A table of films and reports."""

    path: LocalPath
    image_root: LocalPath
    columns: dict[
        Literal["image", "report", "findings", "impression", "patient", "study", "split", "view"], str | None
    ]
    views: dict[str, Literal["frontal", "lateral", "unknown"]]


@takes(CsvSection)
def csv(*, path: str, image_root: str, **settings: Any) -> Source:
    """A table of films and reports.

    Args:
        path: the file.
        image_root: the folder that the films' paths start from, and may not leave.
        **settings: further arguments of `radrl.data.sources.csv.read`.
    """
    from radrl.data.sources.csv import read

    root = Path(image_root)
    return Source(read(path=Path(path), image_root=root, **settings), root=root)
