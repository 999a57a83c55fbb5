"""The source that params.yaml names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from radrl.data.quarantine import Refusal
from radrl.data.sources import csv, phantom
from radrl.data.study import Record
from radrl.data.tables import SourceError


def open_source(settings: Mapping[str, Any], *, seed: int) -> tuple[Iterator[Record | Refusal], Path | None]:
    """Open a source.

    Args:
        settings: the section `ingest` of params.yaml.
        seed: of sources that draw.

    Returns:
        Its records, and the folder that its films' paths may not leave (nothing for a source that draws).

    Raises:
        ValueError: for an unknown source.
    """
    name = settings["source"]
    own = settings[name] if name in SOURCES else {}
    if name == "phantom":
        return phantom.read(seed=seed, image_size=settings["image_size"], **own), None
    if name == "csv":
        root = Path(own["image_root"])
        table, columns, views = Path(own["path"]), own["columns"], own["views"]
        try:
            return csv.read(path=table, image_root=root, columns=columns, views=views), root
        except SourceError as error:
            raise SourceError(f"{error}\nMend ingest.csv in params.yaml, or the file.") from None
    raise ValueError(f"ingest.source {name!r} is unknown; valid: {', '.join(SOURCES)}")


SOURCES = ("phantom", "csv")
