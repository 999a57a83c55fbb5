"""The source `mimic_cxr`: MIMIC-CXR and MIMIC-CXR-JPG 2.0.0 and 2.1.0 as PhysioNet ships them.

See docs/data/mimic_cxr.md.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from radrl.data.quarantine import Refusal, Refused
from radrl.data.sources import Source, path_or_none
from radrl.data.sources.mimic_cxr.annotation import Annotation
from radrl.data.sources.mimic_cxr.r2gen_split import R2GenRules
from radrl.data.sources.mimic_cxr.records import Reading, Split, Text
from radrl.data.sources.mimic_cxr.reports import open_reports
from radrl.data.sources.mimic_cxr.tables import (
    Films,
    Index,
    check_films,
    find_table,
    need_table,
    number,
)
from radrl.data.study import view_word
from radrl.data.tables import BrokenRow, Row, SourceError, Table, open_table
from radrl.observations import BLANK, NEGATIVE, OBSERVATIONS, POSITIVE, UNCERTAIN
from radrl.parts.choices import require_one_of
from radrl.parts.section import LocalPath, Section, takes

_OTHER_NAMES: Final = {"Lung Opacity": "Airspace Opacity"}
_CLASSES: Final = {"": BLANK, "1": POSITIVE, "0": NEGATIVE, "-1": UNCERTAIN}
_log = logging.getLogger(__name__)
_R2GEN: Final = R2GenRules()
_LOOKED_AT = 60  # films whose folders tell which format there is


class MimicCxrSection(Section):
    """MIMIC-CXR or MIMIC-CXR-JPG, 2.0.0 or 2.1.0."""

    root: LocalPath
    tables: LocalPath | None
    reports: LocalPath | None
    films: Films
    split: Split
    annotation: LocalPath | None
    text: Text
    unheaded_findings: bool
    view_positions: Annotated[list[str], Field(min_length=1)] | None
    gold: LocalPath | None
    r2gen: R2GenRules = _R2GEN


@takes(MimicCxrSection)
def mimic_cxr(
    *,
    root: str,
    tables: str | None,
    reports: str | None,
    annotation: str | None,
    gold: str | None,
    r2gen: R2GenRules | Mapping[str, Any],
    **settings: Any,
) -> Source:
    """MIMIC-CXR or MIMIC-CXR-JPG as PhysioNet ships it.

    Args:
        root: the folder that no film's path may leave.
        tables: the folder of the tables.
        reports: the reports.
        annotation: R2Gen's annotation.json.
        gold: the table of the radiologist's labels.
        r2gen: how R2Gen's split and texts are rebuilt.
        **settings: further arguments of `radrl.data.sources.mimic_cxr.read`.
    """
    source = read(
        root=Path(root),
        tables=path_or_none(tables),
        reports=path_or_none(reports),
        annotation=path_or_none(annotation),
        gold=path_or_none(gold),
        r2gen=R2GenRules.model_validate(r2gen),
        **settings,
    )
    return replace(source, root=Path(root))


def read_gold(path: Path) -> dict[int, tuple[int, ...]]:
    """Read the labels: 1.0 is positive, 0.0 negative, -1.0 uncertain, an empty cell not mentioned.

    Args:
        path: the table, compressed or not; a column `study_id` and one an observation, `Airspace Opacity`
            being the file's word for Lung Opacity.

    Returns:
        Study to its 14 class indices in the order of `radrl.observations.OBSERVATIONS`.

    Raises:
        SourceError: with file and row where it cannot be read; its labels are few and checked by hand, so
            none is passed over.
    """
    table = open_table(path)
    columns = [
        _OTHER_NAMES[name] if name not in table.columns and name in _OTHER_NAMES else name
        for name in OBSERVATIONS
    ]
    table.require(("study_id", *columns))
    gold: dict[int, tuple[int, ...]] = {}
    for row in table.rows():
        if isinstance(row, BrokenRow):
            raise SourceError(f"{path} row {row.number}: {row.problem}")
        try:
            study, labels = number(row, "study_id"), tuple(_class(row, column) for column in columns)
        except Refused as refused:
            raise SourceError(f"{path} row {row.number}: {refused.detail}") from refused
        if gold.setdefault(study, labels) != labels:
            raise SourceError(f"{path} row {row.number}: study {study} has other labels in an earlier row")
    return gold


def _class(row: Row, column: str) -> int:
    text = row.cells[column].strip()
    found = _CLASSES.get(text.removesuffix(".0"))
    if found is None:
        raise Refused("malformed_row", f"{column} is {text!r}; valid: 1.0, 0.0, -1.0 and nothing")
    return found


def read(
    *,
    root: Path,
    tables: Path | None = None,
    reports: Path | None = None,
    films: Films = "jpg",
    split: Split = "official",
    annotation: Path | None = None,
    text: Text = "files",
    unheaded_findings: bool = True,
    view_positions: Collection[str] | None = None,
    gold: Path | None = None,
    r2gen: R2GenRules = _R2GEN,
) -> Source:
    """Open MIMIC-CXR.

    The tables are read through once at opening; no film and no more than a few reports are looked at before
    the records are iterated. docs/data/mimic_cxr.md describes the files.

    Args:
        root: the folder that holds `files` with the films; no film's path may leave it.
        tables: the folder of the split, metadata, record and study tables; by default `root`, then `reports`.
        reports: the zip file of reports, or the folder that holds it or their texts; by default `root`.
        films: which of the two published formats lies there, `jpg` or `dcm`.
        split: `official`, that of the split table; `r2gen`, R2Gen's; `drawn`, none stated.
        annotation: R2Gen's annotation.json, for `split` or `text` r2gen; without it both are rebuilt.
        text: `files`, sections of the reports; `r2gen`, R2Gen's text as findings.
        unheaded_findings: as of `radrl.data.sources.mimic_cxr.reports.read_sections`.
        view_positions: keep films of these ViewPositions alone (`""`: of none); by default all.
        gold: the table of the radiologist's labels.
        r2gen: how `split` and `text` r2gen are rebuilt (`radrl.data.sources.mimic_cxr.r2gen_split`).

    Returns:
        A record a film by patient, study and dicom_id; before them the rows that name no film, after them
        the studies and the annotation's entries without one.

    Raises:
        SourceError: a file or a column is missing or damaged, or nothing has a view that is asked for.
        ValueError: a parameter has no such value.
    """
    _check_choices(films, split, text)
    _check_folders(root, tables)
    rebuilt = annotation is None and "r2gen" in (split, text)
    texts = open_reports(reports or root) if rebuilt or text == "files" else None
    labels = read_gold(gold) if gold else {}
    annotated = Annotation(annotation) if annotation and "r2gen" in (split, text) else None
    folders = _folders(root, tables, reports)
    index = _index(
        folders,
        split="drawn" if split == "r2gen" and annotated else split,
        with_views=view_positions is not None,
    )
    check_films(root, films, dict.fromkeys(islice(index.studies(), _LOOKED_AT)))
    views = _views(view_positions, index)
    studies = {study for _, study in index.studies()}
    if gold and studies.isdisjoint(labels):
        raise SourceError(f"{gold} labels no study that the tables name")
    reading = Reading(root, films, split, text, texts, annotated, r2gen, unheaded_findings, views, labels)
    before = index.refusals + (annotated.refusals if annotated else [])
    after = list(_studies_without_films(folders, studies))
    after += annotated.others(index.names()) if annotated else []
    records = chain(before, reading.records(index), after)
    return Source(records, len(before) + len(index) + len(after))


def _check_choices(films: str, split: str, text: str) -> None:
    require_one_of("films", films, ("jpg", "dcm"))
    require_one_of("split", split, ("official", "r2gen", "drawn"))
    require_one_of("text", text, ("files", "r2gen"))


def _check_folders(root: Path, tables: Path | None) -> None:
    if not (root / "files").is_dir():
        raise SourceError(
            f"{root / 'files'} is no folder; set root to the folder that holds files/p10, files/p11, ..."
        )
    if tables and not tables.is_dir():
        raise SourceError(f"{tables} is no folder; set tables to the folder of the .csv.gz files")


def _folders(root: Path, tables: Path | None, reports: Path | None) -> list[Path]:
    """Where tables are looked for."""
    beside = reports.parent if reports and reports.is_file() else reports
    return list(dict.fromkeys(folder for folder in (tables or root, beside) if folder))


def _index(folders: list[Path], *, split: Split, with_views: bool) -> Index:
    if with_views:
        metadata: Table | None = need_table("metadata", folders, "view_positions")
    else:
        metadata = find_table("metadata", folders)
    splits = need_table("split", folders, f"split: {split}") if split != "drawn" else None
    named: list[tuple[Table, str | None]] = []
    if metadata:
        named.append((metadata, "ViewPosition"))
    else:
        _log.warning("no mimic-cxr-2.0.0-metadata.csv(.gz) in %s: all views are unknown", folders[0])
    if splits:
        named.append((splits, "split"))
    index = Index()
    index.take(*(named or [(need_table("records", folders, "a source without metadata"), None)]))
    return index


def _views(wanted: Collection[str] | None, index: Index) -> frozenset[str] | None:
    """The wanted words as the table writes them, without case and punctuation."""
    if wanted is None:
        return None
    there = {view_word(word) for word in index.views}
    if absent := [word for word in wanted if view_word(word) not in there]:
        raise SourceError(
            f"no film has the ViewPosition {', '.join(map(repr, absent))}, which view_positions names; "
            f"there are: {', '.join(map(repr, sorted(index.views)))}"
        )
    return frozenset(map(view_word, wanted))


def _studies_without_films(folders: list[Path], known: Collection[int]) -> Iterator[Refusal]:
    """Rows of the study list that name a study no table has films of, or none."""
    if (table := find_table("studies", folders)) is None:
        return
    for row in table.rows():
        key = f"{table.path.name} row {row.number}"
        if isinstance(row, BrokenRow):
            yield Refusal(key, "malformed_row", row.problem)
            continue
        try:
            study = number(row, "study_id")
        except Refused as refused:
            yield Refusal(key, refused.reason, refused.detail)
        else:
            if study not in known:
                yield Refusal(key, "missing_image", "no table names a film of this study", f"s{study}")
