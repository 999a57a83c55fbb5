"""The section `ingest.csv`: a table of films and reports."""

from __future__ import annotations

from typing import Literal

from radrl.params.base import LocalPath, Section


class Csv(Section):
    """A table of films and reports."""

    path: LocalPath
    image_root: LocalPath
    columns: dict[
        Literal["image", "report", "findings", "impression", "patient", "study", "split", "view"], str | None
    ]
    views: dict[str, Literal["frontal", "lateral", "unknown"]]
