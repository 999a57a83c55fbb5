"""A record that was moved or copied with its project: MLflow keeps whole paths, which then lead elsewhere."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

PLACES: Final = {
    "experiments": "artifact_location",
    "runs": "artifact_uri",
    "logged_models": "artifact_location",
    "model_versions": "storage_location",
}
"""By table of MLflow's data base the column with the address of a folder of files."""


def follow(file: Path, root: Path, artifacts: str) -> int:
    """Let the record look for its files where they lie now.

    Only where the folder has come along, and only addresses below the same folder of another project.

    Args:
        file: MLflow's data base, of SQLite.
        root: the project's folder now.
        artifacts: the folder of files, from the project's; one by its whole path stays where it is.

    Returns:
        How many addresses were changed.
    """
    if Path(artifacts).is_absolute() or not (root / artifacts).is_dir() or not file.is_file():
        return 0
    here = (root / artifacts).as_uri()
    with closing(sqlite3.connect(file, timeout=60)) as base, base:
        rows = base.execute("SELECT DISTINCT artifact_location FROM experiments").fetchall()
        gone = [place for (place,) in rows if place != here and _same_folder(place, artifacts)]
        return sum(
            base.execute(
                f"UPDATE {table} SET {column} = ? || substr({column}, ?) "
                f"WHERE {column} = ? OR substr({column}, 1, ?) = ?",
                (here, len(place) + 1, place, len(place) + 1, f"{place}/"),
            ).rowcount
            for place in gone
            for table, column in PLACES.items()
        )


def _same_folder(place: str | None, artifacts: str) -> bool:
    """Whether an address is that of a project's folder of files, in whatever project."""
    parts = urlsplit(place or "")
    own = PurePosixPath(artifacts).parts
    return parts.scheme == "file" and PurePosixPath(unquote(parts.path)).parts[-len(own) :] == own
