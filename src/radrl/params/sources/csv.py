"""The section `ingest.csv`: a table of films and reports."""

from __future__ import annotations

from typing import Literal

from radrl.params.base import Section


class Csv(Section):
    """A table of films and reports."""

    path: str
    image_root: str
    columns: dict[
        Literal["image", "report", "findings", "impression", "patient", "study", "split", "view"], str | None
    ]
    views: dict[str, Literal["frontal", "lateral", "unknown"]]
