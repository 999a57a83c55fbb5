"""The source `iu_xray`: IU X-Ray (Open-i, the Indiana University collection; Demner-Fushman et al. 2016)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field

from radrl.data.phantom.from_labels import COLUMNS
from radrl.data.quarantine import Reason, Refusal
from radrl.data.sources import Source
from radrl.data.sources.iu_xray.films import (
    Annotation,
    Drawings,
    Files,
    Shown,
    index_films,
    read_annotation,
    refuse,
)
from radrl.data.sources.iu_xray.reports import (
    ARCHIVES,
    REMOVED,
    TAG_COLUMNS,
    Projections,
    Removed,
    Study,
    check_reports,
    open_reports,
    read_archive,
    read_folder,
    read_projections,
    read_reports,
    row_key,
    section,
    study_id,
)
from radrl.data.study import Record
from radrl.data.tables import BrokenRow, Row, SourceError, open_table
from radrl.parts.choices import require_one_of
from radrl.parts.section import LocalPath, Section, takes

_VALUES: Final = {"": False, "0": False, "0.0": False, "1": True, "1.0": True}
Images = Literal["files", "phantom"]
Split = Literal["r2gen", "drawn"]


class IuXraySection(Section):
    """IU X-Ray; all names are relative to root."""

    root: LocalPath
    reports: str | None
    projections: str | None
    films: str | None
    annotation: str | None
    labels: str | None
    split: Literal["r2gen", "drawn"]
    images: Literal["files", "phantom"]
    noise: Annotated[float, Field(ge=0)]
    xxxx: Literal["keep", "drop"]


def _drawn(settings: Mapping[str, Any]) -> bool:
    return bool(settings["images"] == "phantom")


@takes(IuXraySection, drawn=_drawn)
def iu_xray(seed: int, image_size: int, *, root: str, **settings: Any) -> Source:
    """IU X-Ray (Open-i).

    Args:
        seed: of films drawn in place of the real ones.
        image_size: of those, in pixels.
        root: the folder that no file may leave.
        **settings: further arguments of `radrl.data.sources.iu_xray.read`.
    """
    source = read(root=Path(root), seed=seed, image_size=image_size, **settings)
    return replace(source, root=Path(root))


def read_labels(path: Path) -> tuple[dict[str, frozenset[str]], list[Refusal]]:
    """Read the table.

    Args:
        path: a CSV with `filename` (CXR12), `normal` and the columns of
            `radrl.data.phantom.from_labels.COLUMNS`.

    Returns:
        Study to its positive columns, and the rows that cannot be used.

    Raises:
        SourceError: it cannot be read or lacks a column.
    """
    columns = (*COLUMNS, "normal")
    table = open_table(path)
    table.require(("filename", *columns))
    positive: dict[str, frozenset[str]] = {}
    refusals = []
    for row in table.rows():
        study = None if isinstance(row, BrokenRow) else study_id(row.cells["filename"])
        if problem := _problem(row, study, columns, positive):
            refusals.append(Refusal(row_key(table, row), *problem, study_id=study or ""))
        elif isinstance(row, Row) and study:
            positive[study] = frozenset(name for name in columns if _VALUES[row.cells[name].strip()])
    return positive, refusals


def _problem(
    row: Row | BrokenRow, study: str | None, columns: Iterable[str], known: Container[str]
) -> tuple[Reason, str] | None:
    if isinstance(row, BrokenRow):
        return "malformed_row", row.problem
    if study is None:
        return "missing_id", "column 'filename' holds no id such as CXR12"
    if study in known:
        return "duplicate_id", "an earlier row has labels of the study"
    if wrong := [name for name in columns if row.cells[name].strip() not in _VALUES]:
        return "malformed_row", f"column {wrong[0]!r} holds neither 0 nor 1"
    return None


def read(
    *,
    root: Path,
    reports: str | None,
    projections: str | None = None,
    films: str | None = None,
    annotation: str | None = None,
    labels: str | None = None,
    split: Split = "drawn",
    images: Images = "files",
    xxxx: Removed = "keep",
    noise: float = 0.03,
    seed: int = 0,
    image_size: int = 112,
) -> Source:
    """Read IU X-Ray. All names are relative to `root`.

    The collection has one study of each patient, so a study's id is its patient's.

    Args:
        root: the folder that no file may leave.
        reports: NLM's XML reports, a folder or the archive, or `indiana_reports.csv`; nothing takes the
            texts of `annotation`, which are the findings alone.
        projections: `indiana_projections.csv`, the view of every film; without it views are unknown.
        films: the folder with the films, in any of the layouts of `index_films`.
        annotation: R2Gen's `annotation.json`.
        labels: a table of human-indexed labels (`read_labels`), for phantoms.
        split: `r2gen`, that of `annotation`, other studies being left out; `drawn`, none is stated.
        images: `files`, or `phantom`: films drawn from the labels and the reports' tags.
        xxxx: what is done with the removed words (`radrl.data.sources.iu_xray.reports.section`).
        noise: grain of phantoms, standard deviation as a share of the full scale.
        seed: of phantoms.
        image_size: height and width of phantoms in pixels.

    Returns:
        A record a film or its refusal, study by study in the order of the reports; before them the rows and
        entries of the other files that cannot be used, after them films and entries without a report.

    Raises:
        SourceError: a file is missing, damaged, of another form, or outside `root`.
        ValueError: a setting is unknown or needs a file that is not named.
    """
    _check(split, images, xxxx, reports=reports, films=films, annotation=annotation)
    base = _Root(root)
    notes = read_annotation(base.find("annotation", annotation)) if annotation else None
    views = read_projections(base.find("projections", projections)) if projections else Projections()
    columns, refusals = read_labels(base.find("labels", labels)) if labels else ({}, [])
    texts = _open_reports(base, reports, notes, xxxx, needs_tags=images == "phantom" and labels is None)
    shown: Shown
    if images == "phantom":
        shown = Drawings(views, columns, seed=seed, size=image_size, noise=noise)
    else:
        folder = base.find("films", films or "")
        shown = Files(folder, index_films(folder), views, notes)
    refusals = [*views.refusals, *(notes.refusals if notes else ()), *refusals]
    return Source(_records(refusals, texts, shown, notes, by_annotation=split == "r2gen"))


def _check(
    split: str, images: str, xxxx: str, *, reports: str | None, films: str | None, annotation: str | None
) -> None:
    for name, value, valid in (
        ("split", split, get_args(Split)),
        ("images", images, get_args(Images)),
        ("xxxx", xxxx, REMOVED),
    ):
        require_one_of(name, value, valid)
    if reports is None and annotation is None:
        raise ValueError("name reports, or annotation to take its texts")
    if split == "r2gen" and annotation is None:
        raise ValueError("split r2gen needs annotation, R2Gen's annotation.json; or set split to drawn")
    if images == "files" and films is None:
        raise ValueError("images files needs films, the folder with the films; or set images to phantom")


@dataclass(frozen=True, slots=True)
class _Root:
    """The folder that everything lies in."""

    path: Path

    def find(self, role: str, name: str) -> Path:
        """A file or folder below it that is there."""
        path = self.path / name
        if not self.path.is_dir():
            raise SourceError(f"root {self.path} is no folder")
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise SourceError(
                f"{role} {name!r} leads out of root {self.path}; name a folder above it as root"
            )
        if not path.exists():
            raise SourceError(f"{path} does not exist, which {role} names; correct it, or set root")
        return path


def _open_reports(
    base: _Root, name: str | None, notes: Annotation | None, xxxx: Removed, *, needs_tags: bool
) -> Iterator[Study | Refusal]:
    no_labels = "images phantom needs labels, or reports with the indexers' tags"
    if name is None:
        assert notes is not None  # _check
        if needs_tags:
            raise ValueError(f"{no_labels}; annotation has none")
        return _annotated(notes, xxxx)
    path = base.find("reports", name)
    if path.is_dir() or path.name.casefold().endswith(ARCHIVES):
        check_reports(path)
        return read_folder(path, base.path, xxxx=xxxx) if path.is_dir() else read_archive(path, xxxx=xxxx)
    table = open_reports(path)
    if needs_tags and not set(TAG_COLUMNS) & set(table.columns):
        raise SourceError(f"{no_labels}; {path} has no column {' or '.join(TAG_COLUMNS)}")
    return read_reports(table, xxxx=xxxx)


def _annotated(notes: Annotation, xxxx: Removed) -> Iterator[Study]:
    """R2Gen's reports, which are the findings."""
    for entry in notes.entries.values():
        yield Study(entry.key, entry.study_id, section(entry.report, xxxx=xxxx), None)


def _records(
    refusals: list[Refusal],
    reports: Iterator[Study | Refusal],
    shown: Shown,
    notes: Annotation | None,
    *,
    by_annotation: bool,
) -> Iterator[Record | Refusal]:
    yield from refusals
    met: dict[str, str] = {}
    for study in reports:
        if isinstance(study, Refusal):
            yield study
        elif study.study_id in met:
            detail = f"{met[study.study_id]} is a report of the same study"
            yield Refusal(study.key, "duplicate_id", detail, study.study_id)
        else:
            met[study.study_id] = study.key
            yield from _films(study, shown, notes if by_annotation else None)
    yield from shown.unclaimed(set(met))
    for entry in notes.entries.values() if notes else ():
        if entry.study_id not in met:
            yield Refusal(entry.key, "missing_report", "the study has no report", entry.study_id)


def _films(study: Study, shown: Shown, splits: Annotation | None) -> Iterator[Record | Refusal]:
    """The films of a study, left out where the annotation that gives the splits does not name it."""
    if splits is None:
        yield from shown.records(study, None)
    elif entry := splits.entries.get(study.study_id):
        yield from shown.records(study, entry.split)
    else:
        detail = "annotation does not name the study; set split to drawn to take it"
        yield from refuse(study, shown.listed(study), "left_out_split", detail)
