"""The source `chexpert_plus`: CheXpert Plus as Stanford AIMI ships it (Chambon et al. 2024).

With the radiologists' labels of CheXpert's validation set.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

from pydantic import model_validator

from radrl.data.quarantine import Refusal, Refused
from radrl.data.sources import Source, path_or_none
from radrl.data.sources.chexpert_plus.tables import (
    Annotation,
    Gold,
    RowReader,
    film_of,
    open_rows,
    patient_of,
    scan,
    study_of,
    view_number,
)
from radrl.data.study import Record, canonical_split, moment, view_table, view_word, years
from radrl.data.tables import SourceError, Table
from radrl.parts.section import LocalPath, Section, takes

Films = Literal["png", "jpg", "dicom"]
Split = Literal["release", "mambaxray", "drawn"]
Test = Literal["split", "gold"]
_PATH: Final = {"png": "path_to_image", "jpg": "path_to_image", "dicom": "path_to_dcm"}
_COLUMNS: Final = (
    "path_to_image",
    "frontal_lateral",
    "ap_pa",
    "deid_patient_id",
    "section_findings",
    "section_impression",
    "split",
)
_WORDS: Final = view_table()
_log = logging.getLogger(__name__)


class ChexpertPlusSection(Section):
    """CheXpert Plus as Stanford AIMI ships it."""

    path: LocalPath
    images: LocalPath
    films: Literal["png", "jpg", "dicom"]
    split: Literal["release", "mambaxray", "drawn"]
    annotation: LocalPath | None
    gold: LocalPath | None
    test: Literal["split", "gold"]

    @model_validator(mode="after")
    def _files_are_named(self) -> ChexpertPlusSection:
        if self.split == "mambaxray" and self.annotation is None:
            raise ValueError("split: mambaxray needs annotation, the benchmark's annotation file")
        if self.test == "gold" and self.gold is None:
            raise ValueError("test: gold needs gold, a file of labels such as CheXpert's valid.csv")
        return self


@takes(ChexpertPlusSection)
def chexpert_plus(
    *, path: str, images: str, annotation: str | None, gold: str | None, **settings: Any
) -> Source:
    """CheXpert Plus as Stanford AIMI ships it.

    Args:
        path: its table.
        images: the folder that the films' paths start from, and may not leave.
        annotation: the annotation file of a benchmark.
        gold: a file of labels.
        **settings: further arguments of `radrl.data.sources.chexpert_plus.read`.
    """
    source = read(
        path=Path(path),
        images=Path(images),
        annotation=path_or_none(annotation),
        gold=path_or_none(gold),
        **settings,
    )
    return replace(source, root=Path(images))


def read(
    *,
    path: Path,
    images: Path,
    films: Films = "png",
    split: Split = "release",
    annotation: Path | None = None,
    gold: Path | None = None,
    test: Test = "split",
) -> Source:
    """Read CheXpert Plus.

    Its table holds one film a row, the films of a study scattered over the file, and repeats the report with
    every film, each time anonymised anew. Here the films of a study follow each other, by view number, and
    carry one text: that of the first of them. The table is read twice, first for the places of its rows;
    texts are taken from there study by study. Of each row only path, view, patient, findings, impression,
    split and, where they are there, clinical history, age and order are used: `report` holds dates and
    accession numbers and is left alone.

    Args:
        path: `df_chexpert_plus_240401.csv`, unpacked.
        images: the folder that the paths in the table start from, which holds `train` and `valid`.
        films: `png` or `jpg`, the table's path with this ending; `dicom`, its path_to_dcm.
        split: `release`, the table's train and valid, the latter as val; `mambaxray`, what `annotation` says,
            films that it does not name being left out; `drawn`, none is stated.
        annotation: the annotation file of MambaXray-VL's benchmark.
        gold: a file of radiologists' labels (`Gold`); its studies carry them.
        test: `split`, the test split is what `split` says; `gold`, it is the studies with gold labels and
            nothing else, and their patients' other studies are left out.

    Returns:
        A record a film, or its refusal, studies in the order in which the table first names them; before
        them the refusals of rows that cannot be read, and of films and studies that `annotation` and `gold`
        name and the table does not.

    Raises:
        SourceError: a file cannot be read, is of another dataset, or `images` is no such folder.
        ValueError: `split` or `test` needs a file that is not given.
    """
    if split == "mambaxray" and annotation is None:
        raise ValueError("split mambaxray needs annotation, the benchmark's annotation file")
    if test == "gold" and gold is None:
        raise ValueError("test gold needs gold, a file of labels")
    _check_folder(images, films)
    table = open_rows(path, (*_COLUMNS, *([_PATH[films]] if films == "dicom" else [])))
    labels = Gold(gold) if gold is not None else None
    splits = _Splits(
        split, test, Annotation(annotation) if annotation and split == "mambaxray" else None, labels
    )
    index = _index(table)
    refusals = [*index.refusals, *_unmatched(index, labels, splits.annotation)]
    records = _Records(table, index, images, films, splits, labels)
    return Source(_chain(refusals, records), len(refusals) + len(index.films))


def _check_folder(images: Path, films: Films) -> None:
    if not images.is_dir():
        raise SourceError(
            f"{images} is no folder; images is the one that holds the release's train and valid"
        )
    if films != "dicom" and not any((images / name).is_dir() for name in ("train", "valid")):
        raise SourceError(
            f"{images} holds neither train nor valid; images is the folder that path_to_image starts from "
            "(PNG, or PNG/PNG, of the unpacked PNG.zip)"
        )


@dataclass(slots=True)
class _Index:
    """Places of the table's rows by study, films in order of their view, and what has none."""

    studies: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)  # view, row number, offset
    films: set[str] = field(default_factory=set)
    refusals: list[Refusal] = field(default_factory=list)


def _index(table: Table) -> _Index:
    index = _Index()
    for row in scan(table):
        key = f"{table.path.name} row {row.number}"
        try:
            study, film, view = _names(row.cells)
            if film in index.films:
                raise Refused("duplicate_film", "a row before names the same film")
        except Refused as refused:
            path = None if isinstance(row.cells, str) else row.cells["path_to_image"].strip()
            index.refusals.append(
                Refusal(key, refused.reason, refused.detail, study_of(path or "") or "", path)
            )
        else:
            index.films.add(film)
            index.studies.setdefault(study, []).append((view, row.number, row.offset))
    for places in index.studies.values():
        places.sort()
    return index


def _names(cells: dict[str, str] | str) -> tuple[str, str, int]:
    """Study, film and number of the view of a row.

    Raises:
        Refused: the row cannot be read, or names no film or patient.
    """
    if isinstance(cells, str):
        raise Refused("malformed_row", cells)
    path, patient = cells["path_to_image"].strip(), cells["deid_patient_id"].strip()
    if not path:
        raise Refused("missing_image", "path_to_image is empty")
    study, film = study_of(path), film_of(path)
    if study is None or film is None:
        expected = "train/patient00001/study1/view1_frontal.jpg"
        raise Refused("missing_id", f"path_to_image names no patient, study and view, as {expected} does")
    if not patient:
        raise Refused("missing_id", "deid_patient_id is empty")
    if patient != patient_of(study):
        raise Refused("duplicate_id", "deid_patient_id is not the patient of path_to_image")
    return study, film, view_number(path)


def _unmatched(index: _Index, gold: Gold | None, annotation: Annotation | None) -> list[Refusal]:
    """What the annotation and the labels name, and the table does not."""
    refusals = []
    if annotation is not None:
        refusals += annotation.damaged + annotation.absent(index.films)
    if gold is not None:
        if not any(study in gold for study in index.studies):
            raise SourceError(
                f"{gold.name} labels no study of the release; CheXpert's valid.csv labels its valid split "
                "(the 500 studies of CheXpert's test set have no reports in the release)"
            )
        refusals += gold.damaged + gold.absent(set(index.studies))
    return refusals


class _Splits:
    """Which split a film belongs to."""

    def __init__(self, split: Split, test: Test, annotation: Annotation | None, gold: Gold | None) -> None:
        self._split = split
        self._gold = gold if test == "gold" else None
        self._patients: set[str] = set()
        self.annotation = annotation

    def learn(self, studies: Iterator[str]) -> None:
        """Note the patients of those studies that have gold labels."""
        if self._gold is not None:
            self._patients = {patient_of(study) for study in studies if study in self._gold}

    def split_of(self, study: str, path: str, stated: str) -> str | None:
        """A film's split, or nothing where none is stated.

        Raises:
            Refused: `left_out_split`.
        """
        if self._gold is not None and study in self._gold:
            return "test"
        if patient_of(study) in self._patients:
            raise Refused("left_out_split", "another study of a patient in the gold set")
        split = self._own(path, stated)
        if self._gold is not None and canonical_split(split or "") == "test":
            raise Refused("left_out_split", "test: gold keeps the studies with gold labels alone")
        return split

    def _own(self, path: str, stated: str) -> str | None:
        if self._split == "drawn":
            return None
        if self.annotation is None:
            return stated or None
        if (split := self.annotation.split(path)) is None:
            raise Refused("left_out_split", "the benchmark's annotation file does not name this film")
        return split


class _Records:
    """The films of an index as records."""

    def __init__(
        self, table: Table, index: _Index, images: Path, films: Films, splits: _Splits, gold: Gold | None
    ) -> None:
        self._table = table
        self._index = index
        self._images = images
        self._films = films
        self._splits = splits
        self._gold = gold
        self._unread: set[str] = set()
        splits.learn(iter(index.studies))

    def __iter__(self) -> Iterator[Record | Refusal]:
        with RowReader(self._table) as rows:
            for study, places in self._index.studies.items():
                first: dict[str, str] | None = None
                for _, number, offset in places:
                    cells = rows.row_at(offset)
                    first = first or cells
                    yield self._record(f"{self._table.path.name} row {number}", study, cells, first)

    def _record(self, key: str, study: str, cells: dict[str, str], first: dict[str, str]) -> Record | Refusal:
        path = cells["path_to_image"].strip()
        try:
            split = self._splits.split_of(study, path, cells["split"].strip())
            gold = self._gold.labels(study) if self._gold is not None else None
        except Refused as refused:
            return Refusal(key, refused.reason, refused.detail, study, path)
        return Record(
            key=key,
            study_id=study,
            patient_id=patient_of(study),
            image=self._image(path, cells),
            view=_view(cells),
            split=split,
            findings=first["section_findings"].strip() or None,
            impression=first["section_impression"].strip() or None,
            gold=gold,
            indication=_indication(first),
            age=self._number(key, first, "age", years),
            taken=self._number(key, first, "patient_report_date_order", moment),
        )

    def _number(
        self, key: str, cells: dict[str, str], column: str, read_cell: Callable[[str], int | None]
    ) -> int | None:
        """A number that only a prompt needs: one that cannot be read is missing, and said once a column."""
        try:
            return read_cell(cells.get(column, ""))
        except ValueError:  # whose cell is the patient's and not for a log
            if column not in self._unread:
                self._unread.add(column)
                _log.warning("%s: column %s holds no such number, here or below; none is given", key, column)
            return None

    def _image(self, path: str, cells: dict[str, str]) -> Path | None:
        if self._films == "dicom":
            named = cells[_PATH[self._films]].strip()
            return self._images / named if named else None
        return self._images / PurePosixPath(path).with_suffix(f".{self._films}")


def _indication(cells: dict[str, str]) -> str | None:
    """CLINICAL HISTORY, else HISTORY: what Stanford's reports call the reason for a study."""
    texts = (cells.get(column, "").strip() for column in ("section_clinical_history", "section_history"))
    return next(filter(None, texts), None)


def _view(cells: dict[str, str]) -> str:
    """The view; unknown where frontal_lateral and ap_pa contradict each other, as they do for 17 films."""
    view = _WORDS.get(view_word(cells["frontal_lateral"]), "unknown")
    other = _WORDS.get(view_word(cells["ap_pa"]), view)
    return view if view == other else "unknown"


def _chain(refusals: list[Refusal], records: _Records) -> Iterator[Record | Refusal]:
    yield from refusals
    yield from records
