"""What a path of CheXpert says: `train/patient00001/study1/view1_frontal.jpg`."""

from __future__ import annotations

import re
from typing import Final

_STUDY: Final = re.compile(r"(?:^|/)(patient\d+)/(study\d+)(?=/|$)")
_VIEW: Final = re.compile(r"/(view(\d+)_[a-z]+)\.\w+$")


def study_of(path: str) -> str | None:
    """Name the study of a film's or study's path, `patient00001_study1`; nothing where it names none.

    Studies are numbered within a patient, so the study folder alone names none.
    """
    found = _STUDY.search(path)
    return f"{found[1]}_{found[2]}" if found else None


def patient_of(study: str) -> str:
    """The patient of a study's name."""
    return study.partition("_")[0]


def film_of(path: str) -> str | None:
    """Name a film whatever folder, split and file format its path states; nothing where it names none."""
    study, view = study_of(path), _VIEW.search(path)
    return f"{study}_{view[1]}" if study and view else None


def view_number(path: str) -> int:
    """The number in `view2_lateral.jpg`; 0 where there is none."""
    view = _VIEW.search(path)
    return int(view[2]) if view else 0
