"""The film files under a folder, whatever layout the copy has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from radrl.data.quarantine import Refusal
from radrl.data.sources.iu_xray.study import SUFFIXES, film_id, study_of
from radrl.data.tables import SourceError


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
