"""R2Gen's annotation.json for MIMIC-CXR: its splits and texts, read without holding the file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from radrl.data.json_scanner import Scanner
from radrl.data.quarantine import Refusal, Refused
from radrl.data.sources.mimic_cxr.tables import dicom_bytes, dicom_text
from radrl.data.tables import SourceError
from radrl.storage import json_files

_FORM: Final = "no JSON of R2Gen's form"


class Annotation:
    """Splits and texts by film.

    The file is `{"train": [...], "val": [...], "test": [...]}`; an entry has `id` (a dicom_id), `study_id`,
    `subject_id`, `report` and `image_path`, a list of one path that ends in `<dicom_id>.jpg`.

    Attributes:
        refusals: entries that name no film, or one again.
    """

    def __init__(self, path: Path) -> None:
        """Read the file through once.

        Raises:
            SourceError: no such file, or no JSON of this form.
        """
        self._path = path
        self._splits: list[str] = []
        self._places: dict[bytes, int] = {}
        self._split, self._start, self._length = array("b"), array("q"), array("i")
        self._study, self._subject = array("q"), array("q")
        self._problems: dict[int, Refused] = {}
        self.refusals: list[Refusal] = []
        if not path.is_file():
            raise SourceError(f"annotation {path} is no file")
        with path.open("rb") as stream:
            for split, number, start, length, entry in _entries(path, stream):
                self._take(f"{path.name} {split} entry {number}", split, start, length, entry)

    def _take(self, key: str, split: str, start: int, length: int, entry: Any) -> None:
        try:
            packed = _film(entry)
            study, subject = _number(entry, "study_id"), _number(entry, "subject_id")
        except Refused as refused:
            self.refusals.append(Refusal(key, refused.reason, refused.detail))
            return
        if split not in self._splits:
            self._splits.append(split)
        place = self._places.setdefault(packed, len(self._split))
        if place < len(self._split):
            earlier = self._splits[self._split[place]]
            detail = f"{dicom_text(packed)} stands in an earlier entry too; take one out"
            self.refusals.append(Refusal(key, "duplicate_film", detail, f"s{study}"))
            if earlier != split:
                detail = f"{self._path.name} has this film in {earlier} and {split}; take one out"
                self._problems[place] = Refused("unknown_split", detail)
            return
        self._split.append(self._splits.index(split))
        self._start.append(start)
        self._length.append(length)
        self._study.append(study)
        self._subject.append(subject)

    def split(self, packed: bytes, study: int, subject: int) -> str | None:
        """The split of a film, or nothing where the annotation does not name it.

        Raises:
            Refused: `duplicate_id` where the annotation has it with another study or patient,
                `unknown_split` where it stands in two splits.
        """
        place = self._place(packed, study, subject)
        return None if place is None else self._splits[self._split[place]]

    def text(self, packed: bytes, study: int, subject: int) -> str:
        """The report text of a film.

        Raises:
            Refused: `missing_report`, `malformed_report`, or those of `split`.
        """
        place = self._place(packed, study, subject)
        if place is None:
            raise Refused("missing_report", f"{self._path.name} has no entry of this film; set text to files")
        with self._path.open("rb") as stream:
            stream.seek(self._start[place])
            data = stream.read(self._length[place])
        try:
            report = json_files.parsed(data).get("report")
        except json_files.NoJson as error:
            raise Refused(
                "malformed_report", f"the entry in {self._path.name} is no text: {error}"
            ) from error
        if not isinstance(report, str):
            raise Refused("missing_report", f"the entry in {self._path.name} has no text in `report`")
        return report

    def others(self, names: Iterable[bytes]) -> list[Refusal]:
        """Refuse the entries of films that are not among some names."""
        others = self._places.keys() - set(names)
        refusals = []
        for packed in sorted(others, key=self._places.__getitem__):
            place = self._places[packed]
            key = f"{self._path.name} {self._splits[self._split[place]]} {dicom_text(packed)}"
            detail = "no table names this film"
            refusals.append(Refusal(key, "missing_image", detail, f"s{self._study[place]}"))
        return refusals

    def _place(self, packed: bytes, study: int, subject: int) -> int | None:
        place = self._places.get(packed)
        if place is None:
            return None
        if place in self._problems:
            raise self._problems[place]
        if (self._study[place], self._subject[place]) != (study, subject):
            detail = f"{self._path.name} gives this film to another study or patient than the table; mend one"
            raise Refused("duplicate_id", detail)
        return place


def _film(entry: Any) -> bytes:
    """The film of an entry, by its image's path, else by its id."""
    if not isinstance(entry, dict):
        raise Refused("malformed_row", f"{type(entry).__name__} where an object is expected")
    image = entry.get("image_path")
    path = image[0] if isinstance(image, list) and image else image
    name = PurePosixPath(path).stem if isinstance(path, str) else entry.get("id")
    if not isinstance(name, str):
        raise Refused("missing_id", "neither `image_path` nor `id` names a film")
    return dicom_bytes(name)


def _number(entry: dict[str, Any], key: str) -> int:
    value = entry.get(key)
    if value is None:
        raise Refused("missing_id", f"`{key}` is missing")
    text = str(value).lstrip("ps")
    if not (text.isascii() and text.isdecimal() and len(text) == 8):
        raise Refused("malformed_row", f"`{key}` {text[:40]!r} is no number of 8 digits")
    return int(text)


def _entries(path: Path, stream: IO[bytes]) -> Iterator[tuple[str, int, int, int, Any]]:
    """Yield split, number, first byte, length in bytes, and entry; strings are read as Latin-1."""
    text = Scanner(f"annotation {path}", stream, form=_FORM)
    text.expect("{")
    while text.peek() != "}":
        split, _ = text.value()
        if not isinstance(split, str):
            text.fail("a name of a split was expected")
        text.expect(":")
        text.expect("[")
        number = 0
        while text.peek() != "]":
            number += 1
            start = text.position()
            entry, length = text.value()
            yield split, number, start, length, entry
            if text.peek() != "]":
                text.expect(",")
        text.expect("]")
        if text.peek() != "}":
            text.expect(",")
    text.expect("}")
    if more := text.peek():
        text.fail(f"nothing more was expected, but {more!r} stands")
