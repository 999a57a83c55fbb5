"""What every file of IU X-Ray says about a study: names of studies and films, and texts of sections."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal, get_args

SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".dcm", ".dicom")

_STUDY: Final = re.compile(r"(?:CXR)?(\d+)", re.IGNORECASE)
_FILM: Final = re.compile(r"(?:CXR)?(\d+)_(?:\d+_)?(IM-\d+(?:-\d+)*)", re.IGNORECASE)


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
    """

    key: str
    study_id: str
    findings: str | None
    impression: str | None
    tags: tuple[str, ...] = ()
    films: tuple[str, ...] = ()


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
