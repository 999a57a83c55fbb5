"""R2Gen's annotation.json: its split, its reports (the FINDINGS) and its own names for films."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from radrl.data.quarantine import Refusal
from radrl.data.sources.iu_xray.study import study_id
from radrl.data.splits import canonical
from radrl.data.tables import SourceError
from radrl.storage import json_files


@dataclass(frozen=True, slots=True)
class Entry:
    """One study: where it stands, its id, its split, its report and the paths of its films."""

    key: str
    study_id: str
    split: str
    report: str
    films: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Annotation:
    """The entries by study, in the file's order, and the entries that cannot be used."""

    entries: dict[str, Entry]
    refusals: list[Refusal]


def read_annotation(path: Path) -> Annotation:
    """Read annotation.json, whole: it has some 2 MB.

    An entry's own `split` counts; where it names none, the list that it stands in. Entries of a study that
    agree are joined.

    Args:
        path: the file.

    Returns:
        The entries, and a refusal for each entry without id, with unknown or contradicting split, or
        that says of its study what an earlier one did not.

    Raises:
        SourceError: the file is no JSON object of lists.
    """
    found = Annotation({}, [])
    for name, number, raw in _raw(path):
        entry = _entry(f"{path.name} {name.strip() or repr(name)} entry {number}", name, raw)
        if isinstance(entry, Refusal):
            found.refusals.append(entry)
            continue
        first = found.entries.setdefault(entry.study_id, entry)
        if first is entry:
            continue
        if refusal := _contradiction(first, entry):
            found.refusals.append(refusal)
        else:
            found.entries[entry.study_id] = replace(first, films=(*first.films, *entry.films))
    return found


def _raw(path: Path) -> Iterator[tuple[str, int, Any]]:
    expected = 'expected {"train": [{"id": ..., "report": ..., "image_path": [...], "split": ...}], ...}'
    content = json_files.read(path, SourceError, mend=expected)
    if not isinstance(content, dict) or not all(isinstance(entries, list) for entries in content.values()):
        raise SourceError(f"{path} is not R2Gen's annotation.json; {expected}")
    for name, entries in content.items():
        yield from ((name, number, raw) for number, raw in enumerate(entries, start=1))


def _entry(key: str, name: str, raw: Any) -> Entry | Refusal:
    if not isinstance(raw, dict):
        return Refusal(key, "malformed_row", "the entry is no JSON object")
    given = raw.get("id")
    study = study_id(given.split("_")[0]) if isinstance(given, str) else None
    if study is None:
        return Refusal(key, "missing_id", "the entry's id is not of the form CXR12_IM-0001")
    films, report = raw.get("image_path", []), raw.get("report") or ""
    if isinstance(films, str):
        films = [films]
    if not isinstance(films, list) or not all(isinstance(film, str) for film in films):
        return Refusal(key, "malformed_row", "image_path is no list of paths", study)
    if not isinstance(report, str):
        return Refusal(key, "malformed_row", "report is no text", study)
    split = _split(key, study, name, str(raw.get("split") or ""))
    return split if isinstance(split, Refusal) else Entry(key, study, split, report, tuple(films))


def _split(key: str, study: str, name: str, own: str) -> str | Refusal:
    listed, stated = canonical(name), canonical(own)
    if listed is None and stated is None:
        return Refusal(key, "unknown_split", f"stands in list {name!r} with split {own!r}", study)
    if listed is not None and stated is not None and listed != stated:
        return Refusal(key, "unknown_split", f"stands in list {name!r}, but its split is {own!r}", study)
    if own.strip() and stated is None:
        return Refusal(key, "unknown_split", f"split {own!r} in list {name!r}", study)
    split = stated or listed
    assert split is not None
    return split


def _contradiction(first: Entry, entry: Entry) -> Refusal | None:
    if first.split != entry.split:
        detail = f"{first.key} has put the study into {first.split}"
        return Refusal(entry.key, "unknown_split", detail, entry.study_id)
    if first.report != entry.report:
        return Refusal(
            entry.key, "duplicate_id", f"{first.key} has another report of the study", entry.study_id
        )
    return None
