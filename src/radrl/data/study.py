"""What a data source hands to ingest: one film and its report, as found, before any check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Film = npt.NDArray[np.uint8]
"""Pixels of a film, shape (H, W), 0 black."""

Draw = Callable[[], Film]
"""Draws a film when it is called; picklable, so that another process can do it."""


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
        split: ``"pretrain"``, ``"train"``, ``"val"`` or ``"test"`` when the source states it.
        findings: the FINDINGS section, or nothing.
        impression: the IMPRESSION section, or nothing.
        report: the whole text of a source that has no sections, or nothing.
        gold: labels known apart from the text (a phantom's facts, human indexing): 14 class
            indices in the order of `radrl.observations.OBSERVATIONS`, or nothing.
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
