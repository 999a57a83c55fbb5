"""R2Gen's annotation.json: its split, its reports (the FINDINGS) and its own names for films."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from radrl.data.phantom.from_labels import IndexedFilm, is_indexed, unmapped
from radrl.data.quarantine import Reason, Refusal
from radrl.data.sources.iu_xray.reports import SUFFIXES, Projections, Study, film_id, study_id, study_of
from radrl.data.study import Draw, Record, canonical_split
from radrl.data.tables import SourceError
from radrl.storage import json_files

_log = logging.getLogger(__name__)


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
    listed, stated = canonical_split(name), canonical_split(own)
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


@dataclass(slots=True)
class FilmIndex:
    """Film ids and where their files lie.

    Args:
        paths: film id to path below the folder.
        of_study: study to film ids, in the order of their names.
        refusals: files that no study can claim, and second files of one film.
    """

    paths: dict[str, str] = field(default_factory=dict)
    of_study: dict[str, list[str]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def numbered(self) -> bool:
        """Whether this is R2Gen's copy, which numbers a study's films instead of naming them."""
        return all("/" in film for film in self.paths)


def index_films(folder: Path) -> FilmIndex:
    """Walk a folder for films by their names; nothing is opened, and links to folders are not followed.

    Args:
        folder: with `1_IM-0001-4001.dcm.png`, `CXR1_1_IM-0001-3001.png`, `1/1_IM-0001-3001.dcm` or
            `CXR2384_IM-0942/0.png`, at any depth. Files that are no images by their suffix are passed over.

    Raises:
        SourceError: no such folder, or no film in it.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder} is no folder; name the folder that holds the films")
    found = FilmIndex()
    for path in _images(folder):
        film = film_id(path)
        if film is None:
            detail = "the file's name says no study (expected 1_IM-0001-4001.dcm.png or CXR1_IM-0001/0.png)"
            found.refusals.append(Refusal(f"film {path}", "missing_report", detail, image=path))
        elif film in found.paths:
            detail = f"{found.paths[film]} is the same film by its name"
            found.refusals.append(Refusal(f"film {path}", "duplicate_film", detail, study_of(film), path))
        else:
            found.paths[film] = path
            found.of_study.setdefault(study_of(film), []).append(film)
    if not found.paths:
        raise SourceError(f"{folder} holds no film of this dataset; unpack NLMCXR_png.tgz there")
    return found


def _images(folder: Path) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.casefold().endswith(SUFFIXES) and not name.startswith("."):
                yield (Path(parent) / name).relative_to(folder).as_posix()


@dataclass(frozen=True, slots=True)
class Listed:
    """A film that some file lists: its name there, and its view."""

    name: str
    view: str


class Shown(Protocol):
    """What gives the films of a study."""

    def listed(self, study: Study) -> list[Listed]:
        """List the films that the study has."""

    def records(self, study: Study, split: str | None) -> Iterator[Record | Refusal]:
        """Yield a record or a refusal for each of them, one for the study where it has none."""

    def unclaimed(self, studies: set[str]) -> Iterator[Refusal]:
        """Yield the refusals of films whose study is none of `studies`."""


def refuse(study: Study, films: list[Listed], reason: Reason, detail: str) -> Iterator[Refusal]:
    """Yield a refusal for each film, for the study where it has none."""
    for film in films:
        yield Refusal(f"{study.key} film {film.name}", reason, detail, study.study_id, film.name)
    if not films:
        yield Refusal(study.key, reason, detail, study.study_id)


class Files:
    """Films from a folder.

    Args:
        folder: the folder.
        index: what lies in it.
        projections: the views.
        annotation: names the films of R2Gen's copy.
    """

    def __init__(
        self, folder: Path, index: FilmIndex, projections: Projections, annotation: Annotation | None
    ) -> None:
        self._folder = folder
        self._index = index
        self._numbered = index.numbered
        self._projections = projections
        self._annotation = annotation

    def listed(self, study: Study) -> list[Listed]:
        """List the films that a file names and those that the folder has besides."""
        entry = self._annotation.entries.get(study.study_id) if self._annotation else None
        if self._numbered:
            listed = [Listed(path, "unknown") for path in entry.films] if entry else []
        else:
            listed = _listed(study, self._projections)
        found = {film_id(film.name): film for film in listed}
        listed = [
            Listed(self._index.paths.get(film or "", known.name), known.view) for film, known in found.items()
        ]
        more = [film for film in self._index.of_study.get(study.study_id, ()) if film not in found]
        return listed + [Listed(self._index.paths[film], "unknown") for film in more]

    def records(self, study: Study, split: str | None) -> Iterator[Record]:
        """Yield a record a film; one without a film for a study that has none."""
        listed = self.listed(study)
        for film in listed:
            key = f"{study.key} film {film.name}"
            yield _record(study, key, self._folder / film.name, film.view, split)
        if not listed:
            yield _record(study, study.key, None, "unknown", split)

    def unclaimed(self, studies: set[str]) -> Iterator[Refusal]:
        """Yield the films, in the folder or listed, whose study has no report."""
        yield from self._index.refusals
        paths = {**self._projections.names, **self._index.paths}
        yield from _orphans(paths, studies)


class Drawings:
    """Films drawn from tags and labels.

    Args:
        projections: the views to draw.
        labels: study to its positive columns.
        seed: of the drawings.
        size: height and width in pixels.
        noise: grain, as a share of the full scale.
    """

    def __init__(
        self,
        projections: Projections,
        labels: dict[str, frozenset[str]],
        *,
        seed: int,
        size: int,
        noise: float,
    ) -> None:
        self._projections = projections
        self._labels = labels
        self._seed, self._size, self._noise = seed, size, noise
        self._unmapped: set[str] = set()

    def listed(self, study: Study) -> list[Listed]:
        """List the films that a file names."""
        return _listed(study, self._projections)

    def records(self, study: Study, split: str | None) -> Iterator[Record | Refusal]:
        """Yield a drawn film for each view that is known, one frontal film where none is."""
        listed, columns = self.listed(study), self._labels.get(study.study_id)
        self._warn(study)
        if not is_indexed(study.tags, columns):
            detail = "no indexer has looked at the study, so nothing says what to draw"
            yield from refuse(study, listed, "missing_image", detail)
            return
        drawn = [film for film in listed if film.view != "unknown"]
        drawn = drawn or [Listed(listed[0].name if listed else "drawn", "frontal")]
        for number, film in enumerate(drawn):
            image = IndexedFilm(
                study.study_id, study.tags, columns or frozenset(), self._seed, film.view,
                number, self._size, self._noise,
            )  # fmt: skip
            yield _record(study, f"{study.key} film {film.name}", image, film.view, split)
        names = {film.name for film in drawn}
        if rest := [film for film in listed if film.name not in names]:
            yield from refuse(study, rest, "left_out_view", "its view is unknown, so that it is not drawn")

    def unclaimed(self, studies: set[str]) -> Iterator[Refusal]:
        """Yield the films that the projections list and whose study has no report."""
        yield from _orphans(self._projections.names, studies)

    def _warn(self, study: Study) -> None:
        for head in sorted(unmapped(study.tags) - self._unmapped):
            self._unmapped.add(head)
            _log.warning("%s: the tag %r stands in no table of phantoms and is not drawn", study.key, head)


def _listed(study: Study, projections: Projections) -> list[Listed]:
    """The films that the projections name, then those that the report alone names."""
    known = projections.of_study.get(study.study_id, ())
    names = {film_id(name) or name: name for name in study.films}
    listed = [Listed(projections.names[film], projections.views[film]) for film in known]
    return listed + [Listed(name, "unknown") for film, name in names.items() if film not in projections.views]


def _orphans(paths: dict[str, str], studies: set[str]) -> Iterator[Refusal]:
    for film, path in paths.items():
        if (study := study_of(film)) not in studies:
            yield Refusal(f"film {path}", "missing_report", "no report of the film's study", study, path)


def _record(study: Study, key: str, image: Path | Draw | None, view: str, split: str | None) -> Record:
    """A film's record; one study is one patient, since the collection has one study of each."""
    return Record(
        key=key,
        study_id=study.study_id,
        patient_id=study.study_id,
        image=image,
        view=view,
        split=split,
        findings=study.findings,
        impression=study.impression,
        indication=study.indication,
    )
