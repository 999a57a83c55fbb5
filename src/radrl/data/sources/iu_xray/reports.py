"""Reports and their names: NLM's XML files, in a folder or the archive, and the tables of the CSV copy."""

from __future__ import annotations

import html
import logging
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, Literal, get_args

from radrl.data.archives import tar_entries
from radrl.data.quarantine import Reason, Refusal, Refused
from radrl.data.study import view_table, view_word
from radrl.data.tables import BrokenRow, Row, SourceError, Table, open_table

SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".dcm", ".dicom")

_STUDY: Final = re.compile(r"(?:CXR)?(\d+)", re.IGNORECASE)
_FILM: Final = re.compile(r"(?:CXR)?(\d+)_(?:\d+_)?(IM-\d+(?:-\d+)*)", re.IGNORECASE)

Removed = Literal["keep", "drop"]
REMOVED: Final[tuple[Removed, ...]] = get_args(Removed)
"""What is done with XXXX, which stands for a word that de-identification took out."""
_NULLS: Final = frozenset({"", "nan", "none", "null", "<na>"})
_WORD: Final = re.compile(r"[^\s(\[]*X{4}\S*?(?=[.,;:!?)\]]*(?:\s|$))")
_LEFT_BEHIND: Final = (
    (re.compile(r"\([\s.,;:]*\)|\[[\s.,;:]*\]"), ""),  # brackets with nothing in them
    (re.compile(r"\s+(?=[.,;:!?)\]])|(?<=[(\[])\s+"), ""),
    (re.compile(r"[,;:]+(?=[.!?])"), ""),
    (re.compile(r"(?<=[.!?])(?:\s*[.,;:!?])+"), ""),
    (re.compile(r"^[\s.,;:!?]+"), ""),
    (re.compile(r"[ \t]{2,}"), " "),
)
_log = logging.getLogger(__name__)
TAG_COLUMNS: Final = ("MeSH", "Problems")
"""Columns with the indexers' tags, the fuller one first: `Problems` holds the heads of `MeSH` alone."""
_NO_UID: Final = "column 'uid' holds no number"  # not the cell, which in a shifted row is patient text
ARCHIVES: Final = (".tgz", ".tar.gz", ".tar")
_LARGEST: Final = 1 << 20  # the published ones have at most some 30 kB


@dataclass(frozen=True, slots=True)
class Study:
    """One report.

    Args:
        key: where it stands in its source.
        study_id: `CXR12`.
        findings: the FINDINGS section, or nothing.
        impression: the IMPRESSION section, or nothing.
        tags: the indexers' tags (`Opacity/lung/base/left`).
        films: names of its films as the report's file gives them.
        indication: the INDICATION section, or nothing.
    """

    key: str
    study_id: str
    findings: str | None
    impression: str | None
    tags: tuple[str, ...] = ()
    films: tuple[str, ...] = ()
    indication: str | None = None


def study_id(text: str) -> str | None:
    """Read a study's id: `CXR12`, and `12` as the CSV files write it; nothing when it is neither."""
    match = _STUDY.fullmatch(text.strip())
    return f"CXR{int(match[1])}" if match else None


def film_id(name: str) -> str | None:
    """Bring the names that one film has in different copies to one, or to nothing where it is no film's.

    `12_IM-0001-3001.dcm.png`, `12/12_IM-0001-3001.dcm`, `CXR12_IM-0001-3001` and, as for study 1,
    `CXR12_1_IM-0001-3001` are film `CXR12 IM-0001-3001`; R2Gen's `CXR12_IM-0001/0.png` is
    `CXR12 IM-0001/0`.
    """
    path = PurePosixPath(name.strip())
    stem = path.name
    while stem.casefold().endswith(SUFFIXES):
        stem = stem[: stem.rindex(".")]
    number = f"/{int(stem)}" if stem.isdecimal() else ""
    match = _FILM.fullmatch(path.parent.name if number else stem)
    return f"CXR{int(match[1])} {match[2].upper()}{number}" if match else None


def study_of(film: str) -> str:
    """The study of a film's id."""
    return film.split(" ")[0]


def section(text: str | None, *, xxxx: Removed) -> str | None:
    """Tidy one section.

    Args:
        text: as the file has it.
        xxxx: `keep` leaves the text as published; `drop` takes out every word that holds XXXX
            (`x-XXXX`, `XXXX-year-old`) and the marks and spaces that it leaves behind.

    Returns:
        The text, or nothing where no text is left.
    """
    tidy = html.unescape(text or "").strip()
    if tidy.casefold() in _NULLS:
        return None
    if xxxx == "drop" and "XXXX" in tidy:
        tidy = _WORD.sub("", tidy)
        for pattern, instead in _LEFT_BEHIND:
            tidy = pattern.sub(instead, tidy)
    return tidy.strip() or None


def open_reports(path: Path) -> Table:
    """Open `indiana_reports.csv`.

    Raises:
        SourceError: it cannot be read or lacks a column.
    """
    table = open_table(path)
    table.require(("uid", "findings", "impression"))
    return table


def read_reports(table: Table, *, xxxx: Removed) -> Iterator[Study | Refusal]:
    """Read the reports row by row.

    Args:
        table: from `open_reports`.
        xxxx: `radrl.data.sources.iu_xray.reports.section`.
    """
    tags = next((column for column in TAG_COLUMNS if column in table.columns), None)
    for row in table.rows():
        key = row_key(table, row)
        if isinstance(row, BrokenRow):
            yield Refusal(key, "malformed_row", row.problem)
        elif (study := study_id(row.cells["uid"])) is None:
            yield Refusal(key, "missing_id", _NO_UID)
        else:
            yield Study(
                key=key,
                study_id=study,
                findings=section(row.cells["findings"], xxxx=xxxx),
                impression=section(row.cells["impression"], xxxx=xxxx),
                tags=_tags(row.cells[tags]) if tags else (),
                indication=section(row.cells.get("indication"), xxxx=xxxx),
            )


def row_key(table: Table, row: Row | BrokenRow) -> str:
    """Where a row stands, and that its file is no UTF-8 if so."""
    encoding = " (latin-1)" if table.encoding == "latin-1" else ""
    return f"{table.path.name}{encoding} row {row.number}"


def _tags(cell: str) -> tuple[str, ...]:
    tags = (tag.strip() for tag in cell.split(";"))
    return tuple(tag for tag in tags if tag and tag.casefold() != "nan")


@dataclass(slots=True)
class Projections:
    """What the projections file says: each film's view, and each study's films in its order.

    Args:
        views: film id to view.
        names: film id to the file name in the table.
        keys: film id to the row.
        of_study: study to film ids.
        refusals: rows that cannot be used.
    """

    views: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    of_study: dict[str, list[str]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)


def read_projections(path: Path) -> Projections:
    """Read `indiana_projections.csv`.

    Raises:
        SourceError: it cannot be read or lacks a column.
    """
    table, words = open_table(path), view_table()
    table.require(("uid", "filename", "projection"))
    found, unmapped = Projections(), set[str]()
    for row in table.rows():
        key = row_key(table, row)
        if refusal := _unusable(key, row, found):
            found.refusals.append(refusal)
            continue
        assert isinstance(row, Row)
        name, word = row.cells["filename"].strip(), view_word(row.cells["projection"])
        film = film_id(name) or ""
        if word and word not in words and word not in unmapped:
            unmapped.add(word)
            _log.warning("%s: projection %r is in no table of view words and counts as unknown", key, word)
        found.views[film], found.names[film] = words.get(word, "unknown"), name
        found.keys[film] = key
        found.of_study.setdefault(study_of(film), []).append(film)
    return found


def _unusable(key: str, row: Row | BrokenRow, found: Projections) -> Refusal | None:
    if isinstance(row, BrokenRow):
        return Refusal(key, "malformed_row", row.problem)
    name = row.cells["filename"].strip()
    film, study = film_id(name), study_id(row.cells["uid"])
    if film is None:
        return Refusal(
            key, "malformed_row", "column 'filename' names no film of this dataset", image=name or None
        )
    if study is None:
        return Refusal(key, "missing_id", _NO_UID, image=name)
    if study != study_of(film):
        return Refusal(key, "malformed_row", f"uid of {study} with a film of {study_of(film)}", study, name)
    if film in found.keys:
        return Refusal(key, "duplicate_film", f"{found.keys[film]} names the same film", study, name)
    return None


def check_reports(path: Path) -> None:
    """Refuse a folder or an archive without reports, or a damaged one, by walking through it once.

    Raises:
        SourceError: naming it and the mend.
    """
    names = (
        [file.name for file in _files(path)]
        if path.is_dir()
        else [entry.name for entry in tar_entries(path, largest=0)]
    )
    if not any(map(_is_report, names)):
        raise SourceError(
            f"{path} holds no reports; expected XML files as in NLMCXR_reports.tgz (1.xml, ...)"
        )


def read_folder(folder: Path, root: Path, *, xxxx: Removed) -> Iterator[Study | Refusal]:
    """Read the XML files under a folder, by number.

    Args:
        folder: searched to its depth.
        root: the folder that no link may leave.
        xxxx: `radrl.data.sources.iu_xray.reports.section`.
    """
    from radrl.data.images import locate  # Pillow and pydicom, which whoever opens the source needs not

    for path in _files(folder):
        key = path.relative_to(folder.parent).as_posix()
        try:
            real = locate(path, root)
            yield _too_large(key, real.stat().st_size) or parse_report(real.read_bytes(), key, xxxx=xxxx)
        except Refused as refused:
            reason: Reason = "outside_root" if refused.reason == "outside_root" else "missing_report"
            yield Refusal(key, reason, refused.detail)
        except OSError as error:
            yield Refusal(key, "malformed_report", f"cannot be read ({type(error).__name__})")


def read_archive(path: Path, *, xxxx: Removed) -> Iterator[Study | Refusal]:
    """Read the XML files of an archive, in its order, without unpacking it.

    Raises:
        SourceError: the archive is damaged.
    """
    for entry in tar_entries(path, largest=_LARGEST):
        if not _is_report(entry.name):
            continue
        if large := _too_large(entry.name, entry.size):
            yield large
        elif entry.content is None:
            yield Refusal(entry.name, "missing_report", "a link in the archive, not a file")
        else:
            yield parse_report(entry.content, entry.name, xxxx=xxxx)


def parse_report(content: bytes, key: str, *, xxxx: Removed) -> Study | Refusal:
    """Read one report: its id, FINDINGS, IMPRESSION, INDICATION, the indexers' tags and its films' names.

    Sections of one label are joined. COMPARISON and INDICATION are no part of the report.

    Args:
        content: the file.
        key: where it stands.
        xxxx: `radrl.data.sources.iu_xray.reports.section`.
    """
    try:
        tree = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        return Refusal(key, "malformed_report", f"no XML: {type(error).__name__}")
    given = tree.find(".//uId")
    study = study_id(given.get("id", "") if given is not None else "")
    if study is None:
        return Refusal(key, "missing_id", "no <uId id='CXR...'> in the file")
    texts: dict[str, list[str]] = {}
    for element in tree.iter("AbstractText"):
        texts.setdefault(element.get("Label", "").strip().upper(), []).append(
            "".join(element.itertext()).strip()
        )
    return Study(
        key=key,
        study_id=study,
        findings=section("\n".join(texts.get("FINDINGS", ())), xxxx=xxxx),
        impression=section("\n".join(texts.get("IMPRESSION", ())), xxxx=xxxx),
        tags=tuple(tag for major in tree.iter("major") if (tag := (major.text or "").strip())),
        films=tuple(film for image in tree.iter("parentImage") if (film := image.get("id", "").strip())),
        indication=section("\n".join(texts.get("INDICATION", ())), xxxx=xxxx),
    )


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted((path for path in folder.rglob("*") if _is_report(path.name)), key=_by_number)


def _is_report(name: str) -> bool:
    """Whether it is an XML file and none of the `._1.xml` that some systems put beside it."""
    last = name.rsplit("/", 1)[-1]
    return last.casefold().endswith(".xml") and not last.startswith(".")


def _by_number(path: Path) -> tuple[str, int, str]:
    digits = re.findall(r"\d+", path.stem)
    return path.parent.as_posix(), int(digits[-1]) if digits else 0, path.name


def _too_large(key: str, size: int) -> Refusal | None:
    if size <= _LARGEST:
        return None
    return Refusal(key, "malformed_report", f"{size} bytes; a report has at most {_LARGEST}")
