"""The source `rexgradient`: ReXGradient-160K as its owners ship it (Zhang et al. 2025, arXiv:2505.00228).

See docs/data/rexgradient.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from radrl.data.json_scanner import Scanner
from radrl.data.quarantine import Reason, Refusal, Refused
from radrl.data.sources import Source
from radrl.data.study import Record, moment, view_table, view_word, years
from radrl.data.tables import SourceError
from radrl.parts.section import LocalPath, Section, takes
from radrl.storage import json_files

File = Literal["train", "valid", "test"]
Split = Literal["release", "drawn"]

_FORM: Final = "no JSON object of studies"
_FILMS: Final = "deid_png"
_NOTHING: Final = frozenset({"", "none", "nan", "n/a"})
_WORDS: Final = view_table()
_IN_A_YEAR: Final = {"M": 12, "W": 52, "D": 365}


class RexgradientSection(Section):
    """ReXGradient-160K."""

    metadata: LocalPath
    images: LocalPath
    files: Annotated[list[File], Field(min_length=1)]
    split: Split


@takes(RexgradientSection)
def rexgradient(*, metadata: str, images: str, files: Collection[File], split: Split) -> Source:
    """ReXGradient-160K as its owners ship it: 273,004 films of 160,000 studies.

    The JSON files are read entry by entry. docs/data/rexgradient.md describes them.

    Args:
        metadata: the folder of `train_metadata_view_position.json` and its like.
        images: the folder `deid_png`, unpacked; no film's path may leave it.
        files: which of the three are read, each its own split.
        split: `release`, that of the file; `drawn`, none stated.

    Returns:
        A record a film by file, study and place in the study.

    Raises:
        SourceError: a file or folder is not there; while records are read, that a file is damaged.
    """
    paths = {name: Path(metadata) / f"{name}_metadata_view_position.json" for name in files}
    for path in paths.values():
        if not path.is_file():
            raise SourceError(f"{path} is no file; set metadata to its folder, or take it out of files")
    if not Path(images).is_dir():
        raise SourceError(f"{images} is no folder; set images to the unpacked {_FILMS}")
    return Source(_records(paths, Path(images), split), root=Path(images))


def _records(paths: Mapping[File, Path], images: Path, split: Split) -> Iterator[Record | Refusal]:
    for name, path in paths.items():
        for study, data in _entries(path):
            key = f"{path.name} {study}"
            try:
                entry = _entry(data)
                yield from _films(key, entry, images, name if split == "release" else None)
            except Refused as refused:
                yield Refusal(key, refused.reason, refused.detail)


def _entries(path: Path) -> Iterator[tuple[str, bytes]]:
    """The file's keys and entries, one after the other."""
    with path.open("rb") as stream:
        text = Scanner(str(path), stream, form=_FORM)
        text.expect("{")
        while text.peek() != "}":
            key = text.raw()
            text.expect(":")
            yield key.decode("utf-8", "replace").strip('"'), text.raw()
            if text.peek() != "}":
                text.expect(",")
        text.expect("}")
        if more := text.peek():
            text.fail(f"nothing more was expected, but {more!r} stands")


def _entry(data: bytes) -> dict[str, Any]:
    try:
        entry = json_files.parsed(data)
    except json_files.NoJson as error:
        raise Refused("malformed_row", f"the entry cannot be read: {error}") from error
    if not isinstance(entry, dict):
        raise Refused("malformed_row", f"{type(entry).__name__} where an object is expected")
    return entry


def _films(key: str, entry: Mapping[str, Any], images: Path, split: str | None) -> Iterator[Record | Refusal]:
    """A record each of a study's films; what cannot be read of the study refuses all of them."""
    paths = entry.get("ImagePath")
    if not isinstance(paths, list) or not paths:
        raise Refused("missing_image", "ImagePath lists no film")
    try:
        study, patient = _name(entry, "StudyInstanceUid"), _name(entry, "PatientID")
        views = _views(entry.get("ImageViewPosition"), len(paths))
        findings, impression = _text(entry, "Findings"), _text(entry, "Impression")
        indication = _text(entry, "Indication")
    except Refused as refused:
        study_id = str(entry.get("StudyInstanceUid") or "")
        for number in range(1, len(paths) + 1):
            yield Refusal(f"{key} film {number}", refused.reason, refused.detail, study_id)
        return
    for number, (path, view) in enumerate(zip(paths, views, strict=True), 1):
        own = f"{key} film {number}"
        try:
            image = images / _below(path)
        except Refused as refused:
            yield Refusal(own, refused.reason, refused.detail, study)
            continue
        yield Record(
            own,
            study,
            patient,
            image,
            view,
            split,
            findings=findings,
            impression=impression,
            indication=indication,
            age=_known(entry.get("PatientAge"), _age),
            taken=_known(entry.get("StudyDate"), moment),
        )


def _known(value: Any, read: Callable[[str], int | None]) -> int | None:
    """A field as a number; nothing where it cannot be read: ingest counts in how many studies it is known."""
    try:
        return read(str(value)) if isinstance(value, str | int) else None
    except ValueError:
        return None


def _age(text: str) -> int | None:
    """Whole years of an age as DICOM writes it: ``061Y``, and of children ``018M``, ``006W``, ``004D``."""
    number, unit = text.strip()[:-1], text.strip()[-1:].upper()
    if unit in _IN_A_YEAR and number.isdecimal():
        return int(number) // _IN_A_YEAR[unit]
    return years(text)


def _name(entry: Mapping[str, Any], key: str) -> str:
    if (value := _text(entry, key, "malformed_row")) is None:
        raise Refused("missing_id", f"{key} is missing or empty")
    return value


def _text(entry: Mapping[str, Any], key: str, reason: Reason = "malformed_report") -> str | None:
    """A field, nothing where it is absent or says so in one of the words for nothing."""
    value = entry.get(key)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, str):
        raise Refused(reason, f"{key} is {type(value).__name__} where a text is expected")
    return None if value.strip().casefold() in _NOTHING else value.strip()


def _views(words: Any, films: int) -> list[str]:
    if words is None:
        return ["unknown"] * films
    if not isinstance(words, list) or len(words) != films:
        given = len(words) if isinstance(words, list) else type(words).__name__
        raise Refused("malformed_row", f"ImageViewPosition has {given} for the {films} films of ImagePath")
    return [_WORDS.get(view_word(word), "unknown") if isinstance(word, str) else "unknown" for word in words]


def _below(path: Any) -> PurePosixPath:
    """A film's path below `deid_png`; the files write it from their own folder, `../deid_png/...`."""
    if not isinstance(path, str) or not path.strip():
        raise Refused("missing_image", "the film's path is empty or no text")
    parts = PurePosixPath(path).parts
    start = parts.index(_FILMS) + 1 if _FILMS in parts else 0
    if not start or ".." in parts[start:] or not parts[start:]:
        raise Refused("outside_root", f"the film's path does not lead below {_FILMS}")
    return PurePosixPath(*parts[start:])
