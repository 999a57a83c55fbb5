"""What a data source hands to ingest: one film and its report, as found, and the words for view and split."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Film = npt.NDArray[np.uint8]
"""Pixels of a film, shape (H, W), 0 black."""

Draw = Callable[[], Film]
"""Draws a film when it is called; picklable, so that another process can do it."""

SPLITS: Final = ("pretrain", "train", "val", "test", "away")
"""`pretrain` trains the laptop's stand-in for a general pretrained policy and nothing else; `away` are test
films of another hospital."""
AWAY: Final = SPLITS[-1]

_SPLIT_WORDS: Final[Mapping[str, str]] = {
    "training": "train",
    "valid": "val",
    "validate": "val",
    "validation": "val",
    "dev": "val",
    "testing": "test",
}

VIEWS: Final = ("frontal", "lateral", "unknown")

VIEW_WORDS: Final[Mapping[str, str]] = {
    "frontal": "frontal",
    "pa": "frontal",
    "ap": "frontal",
    "pa erect": "frontal",
    "ap erect": "frontal",
    "ap supine": "frontal",
    "ap portable": "frontal",
    "posteroanterior": "frontal",
    "postero anterior": "frontal",
    "anteroposterior": "frontal",
    "antero posterior": "frontal",
    "lateral": "lateral",
    "lat": "lateral",
    "l": "lateral",
    "ll": "lateral",
    "rl": "lateral",
    "left lateral": "lateral",
    "right lateral": "lateral",
}
"""View words of the public chest film sets. Obliques and decubitus films are neither, so not listed."""


_OLDEST: Final = 120


class Box(NamedTuple):
    """A place on a film, and what a reference says of it.

    Args:
        sentence: of the reference.
        left: where the box begins, as a share of the film's width.
        top: as a share of its height.
        right: where it ends.
        bottom: the same.
    """

    sentence: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Record:
    """One film with its report text, as a source found it.

    A source only reads; it never judges. Decoding, text checks, duplicates and splits are ingest's
    (`radrl.data.ingest`), so that every source is held to the same rules.

    Args:
        key: where the record stands in its source, for messages and the quarantine table
            (``"reports.csv row 12"``).
        study_id: the study; several films may share it. Empty when the source names none.
        patient_id: the patient, the unit of splitting and of the bootstrap. Empty when unknown.
        image: path of the film, its pixels, or what draws them. Nothing when the source names no film.
        view: ``"frontal"``, ``"lateral"`` or ``"unknown"``.
        split: ``"pretrain"``, ``"train"``, ``"val"``, ``"test"`` or ``"away"`` when the source states it.
        findings: the FINDINGS section, or nothing.
        impression: the IMPRESSION section, or nothing.
        report: the whole text of a source that has no sections, or nothing.
        gold: labels known apart from the text (a phantom's facts, human indexing): 14 class
            indices in the order of `radrl.observations.OBSERVATIONS`, or nothing.
        indication: why the study was asked for, or nothing.
        age: the patient's, in whole years, or nothing.
        taken: a number that grows from one study of the patient to the next, such as a date, or nothing.
        boxes: where on this film the reference's sentences look, or nothing.
    """

    key: str
    study_id: str
    patient_id: str
    image: Path | Film | Draw | None
    view: str = "unknown"
    split: str | None = None
    findings: str | None = None
    impression: str | None = None
    report: str | None = None
    gold: tuple[int, ...] | None = None
    indication: str | None = None
    age: int | None = None
    taken: int | None = None
    boxes: tuple[Box, ...] | None = None


def years(text: str) -> int | None:
    """Read an age in years, as tables and DICOM write it.

    Args:
        text: such as ``61``, ``61.0``, ``061Y``; a fraction of a year is cut off.

    Returns:
        The age, or nothing for an empty text.

    Raises:
        ValueError: it is no age.
    """
    number = text.strip().upper().removesuffix("Y")
    if not number:
        return None
    if not re.fullmatch(r"\d{1,3}(\.\d*)?", number) or float(number) > _OLDEST:
        raise ValueError(f"{text!r} is no age in years from 0 to {_OLDEST}")
    return int(float(number))


_DAY: Final = len("20240131")


def moment(text: str) -> int | None:
    """Read when a study was made, as a number that grows with time.

    Args:
        text: a date or time by ISO 8601 (``2024-01-31 08:05``, ``20240131``), or another whole number, an
            order.

    Returns:
        The seconds since the year 1, or the number itself, or nothing for an empty text.

    Raises:
        ValueError: it is neither.
    """
    own = text.strip()
    if not own:
        return None
    is_number = re.fullmatch(r"\d{1,15}", own)  # which a table with empty cells holds exactly, as floats
    if is_number and len(own) != _DAY:
        return int(own)
    try:
        made = datetime.fromisoformat(own).replace(tzinfo=None)
    except ValueError:
        if is_number:
            return int(own)
        raise ValueError(f"{text!r} is no whole number and no date such as 2024-01-31") from None
    return int((made - datetime.min).total_seconds())


def canonical_split(word: str) -> str | None:
    """Translate a source's word for a split (`Train`, `validate`) into ours; nothing when it is unknown."""
    folded = word.strip().casefold()
    split = _SPLIT_WORDS.get(folded, folded)
    return split if split in SPLITS else None


def view_table(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Join a source's own view words to the default ones.

    Args:
        extra: view word to `frontal`, `lateral` or `unknown`; wins over `VIEW_WORDS`.

    Returns:
        Normalised word to view.

    Raises:
        ValueError: a word leads to something that is no view.
    """
    words = dict(VIEW_WORDS)
    for word, view in (extra or {}).items():
        if view not in VIEWS:
            raise ValueError(f"view word {word!r} leads to {view!r}; valid: {', '.join(VIEWS)}")
        words[view_word(word)] = view
    return words


def view_word(word: str) -> str:
    """Fold case and punctuation: `AP-Supine`, `ap_supine` and `AP  Supine` are one word."""
    return " ".join(re.split(r"[\W_]+", word.casefold())).strip()
