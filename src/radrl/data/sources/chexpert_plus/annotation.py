"""The split of MambaXray-VL's benchmark (CXPMRG-Bench, arXiv 2410.00379), from its annotation file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from radrl.data.quarantine import Refusal
from radrl.data.sources.chexpert_plus.rows import film_of
from radrl.data.tables import SourceError
from radrl.storage import json_files


class Annotation:
    """The split of each film that an annotation file names.

    The file has R2Gen's layout: `{"train": [{"id": ..., "report": ..., "image_path": [...]}], "val": [...],
    "test": [...]}`. Its reports are dropped while it is read.

    Args:
        path: the JSON file.

    Raises:
        SourceError: it cannot be read, has another layout, or puts a film into two splits.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._films: dict[str, tuple[str, str]] = {}  # film -> split, key of its entry
        self.damaged: list[Refusal] = []
        for split, entries in _load(path).items():
            for number, entry in enumerate(entries, 1):
                self._take(split, f"{path.name} {split} entry {number}", entry)

    def _take(self, split: str, key: str, entry: Any) -> None:
        paths = entry.get("image_path") if isinstance(entry, dict) else None
        names = [film_of(path) for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
        if not names or None in names:
            detail = "image_path is no list of paths like train/patient00001/study1/view1_frontal.png"
            self.damaged.append(Refusal(key, "malformed_row", detail))
        for name in filter(None, names):
            known, first = self._films.setdefault(name, (split, key))
            if known != split:
                raise SourceError(f"{first} and {key} put one film into two splits; keep one of them")

    def split(self, path: str) -> str | None:
        """The split of a film by its path, or nothing where the file does not name it."""
        return self._films.get(film_of(path) or "", (None, ""))[0]

    def absent(self, films: set[str]) -> list[Refusal]:
        """Refuse the films that the file names and the release does not have.

        Args:
            films: names (`names.film_of`) of the release's films.

        Returns:
            A refusal a film, in the file's order.
        """
        detail = "the release's table has no row of this film"
        return [
            Refusal(key, "missing_report", detail, image=name)
            for name, (_, key) in self._films.items()
            if name not in films
        ]


def _load(path: Path) -> dict[str, list[Any]]:
    if not path.is_file():
        raise SourceError(f"{path} is no file; split mambaxray needs the benchmark's annotation file")
    content = json_files.read(path, SourceError, each=_without_report)
    splits = {"train", "val", "test"}
    if not isinstance(content, dict) or not splits <= set(content):
        raise SourceError(
            f"{path} has no keys train, val and test; this is not the benchmark's annotation file"
        )
    if bad := [name for name, entries in content.items() if not isinstance(entries, list)]:
        raise SourceError(f"{path}: {', '.join(map(repr, bad))} is no list of entries")
    return content


def _without_report(entry: dict[str, Any]) -> dict[str, Any]:
    entry.pop("report", None)
    return entry
