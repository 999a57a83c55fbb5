"""The source `padchest_gr`: PadChest-GR as BIMCV ships it (de Castro et al. 2024, arXiv:2411.05085).

See docs/data/padchest_gr.md.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from radrl.data.quarantine import Refusal, Refused
from radrl.data.sources import Source
from radrl.data.study import Box, Record
from radrl.data.tables import BrokenRow, SourceError, open_table
from radrl.parts.section import LocalPath, Section, takes
from radrl.storage import json_files

Language = Literal["en", "es"]
Split = Literal["release", "drawn"]

_COLUMNS: Final = ("StudyID", "PatientID", "split")
_log = logging.getLogger(__name__)


class PadchestGrSection(Section):
    """PadChest-GR."""

    reports: LocalPath
    table: LocalPath
    images: LocalPath
    language: Language
    split: Split


@takes(PadchestGrSection)
def padchest_gr(*, reports: str, table: str, images: str, language: Language, split: Split) -> Source:
    """PadChest-GR as BIMCV ships it: 4,555 studies of one frontal film, sentence by sentence.

    docs/data/padchest_gr.md describes the files. A box that is no four shares of the film is left out, with a
    warning, and its study kept.

    Args:
        reports: `grounded_reports_20240819.json`.
        table: `master_table.csv`, which has patients and splits.
        images: the folder of the PNG films; no film's path may leave it.
        language: of the sentences, `en` or `es`; labelers read English alone.
        split: `release`, that of the table; `drawn`, none stated.

    Returns:
        A record a study in the order of `reports`; before them the table's broken rows, after them its
        studies without an entry.

    Raises:
        SourceError: a file or folder is not there, damaged, or lacks a column.
    """
    if not Path(images).is_dir():
        raise SourceError(f"{images} is no folder; set images to the folder of the unpacked PNG films")
    if language == "es":
        _log.warning("padchest_gr: labelers read English; of Spanish texts their labels and F1 say nothing")
    studies, refusals = _studies(Path(table))
    entries = _entries(Path(reports))
    named = {str(entry.get("StudyID")) for entry in entries if isinstance(entry, dict)}
    records = refusals + [
        _read(f"{Path(reports).name} entry {number}", entry, studies, Path(images), language, split)
        for number, entry in enumerate(entries, 1)
    ]
    absent = [
        Refusal(f"{Path(table).name} {study}", "missing_report", "no entry has this study", study)
        for study in studies
        if study not in named
    ]
    return Source(iter([*records, *absent]), len(records) + len(absent), Path(images))


def _studies(path: Path) -> tuple[dict[str, tuple[str, str] | Refused], list[Record | Refusal]]:
    """Patient and split of each study; the table has a row a label, so a study has several."""
    table = open_table(path)
    table.require(_COLUMNS)
    studies: dict[str, tuple[str, str] | Refused] = {}
    refusals: list[Record | Refusal] = []
    for row in table.rows():
        key = f"{path.name} row {row.number}"
        if isinstance(row, BrokenRow):
            refusals.append(Refusal(key, "malformed_row", row.problem))
            continue
        study, patient, split = (row.cells[name].strip() for name in _COLUMNS)
        if not (study and patient):
            refusals.append(Refusal(key, "missing_id", "StudyID or PatientID is empty", study))
        elif studies.setdefault(study, (patient, split)) != (patient, split):
            studies[study] = Refused(
                "duplicate_id", f"{key} gives the study another patient or split; mend one"
            )
    return studies, refusals


def _entries(path: Path) -> list[Any]:
    if not path.is_file():
        raise SourceError(f"{path} is no file; set reports to grounded_reports_20240819.json")
    try:
        entries = json_files.parsed(path.read_bytes())
    except json_files.NoJson as error:
        raise SourceError(f"{path} cannot be read: {error}; fetch it again") from error
    if not isinstance(entries, list):
        raise SourceError(f"{path} holds {type(entries).__name__} where a list of studies is expected")
    return entries


def _read(
    key: str,
    entry: Any,
    studies: Mapping[str, tuple[str, str] | Refused],
    images: Path,
    language: Language,
    split: Split,
) -> Record | Refusal:
    study, image = "", None
    try:
        if not isinstance(entry, dict):
            raise Refused("malformed_row", f"{type(entry).__name__} where an object is expected")
        study, image = _text(entry, "StudyID"), _text(entry, "ImageID")
        if "/" in image or "\\" in image:
            raise Refused("outside_root", "ImageID is a path, where a file's name is expected")
        row = studies.get(study)
        if row is None:
            raise Refused("missing_id", "no row of the table has this study, so its patient is unknown")
        if isinstance(row, Refused):
            raise row
        sentences = _sentences(entry.get("findings"), f"sentence_{language}")
    except Refused as refused:
        return Refusal(key, refused.reason, refused.detail, study, image)
    patient, stated = row
    own = stated if split == "release" else None
    boxes = tuple(_boxes(key, entry["findings"], sentences))
    findings = " ".join(sentences) or None
    return Record(key, study, patient, images / image, "frontal", own, findings=findings, boxes=boxes)


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise Refused("missing_id", f"{key} is missing or no text")
    return value.strip()


def _sentences(findings: Any, key: str) -> list[str]:
    """The sentences in their order, present and absent findings alike."""
    if not isinstance(findings, list):
        raise Refused("missing_report", "findings is no list of sentences")
    sentences = []
    for finding in findings:
        sentence = finding.get(key) if isinstance(finding, dict) else None
        if not isinstance(sentence, str) or not sentence.strip():
            raise Refused("malformed_report", f"a finding has no text in {key}")
        sentences.append(" ".join(sentence.split()))
    return sentences


def _boxes(key: str, findings: Sequence[Mapping[str, Any]], sentences: Sequence[str]) -> Iterator[Box]:
    for finding, sentence in zip(findings, sentences, strict=True):
        boxes = finding.get("boxes") or []
        for sides in boxes if isinstance(boxes, list) else [boxes]:
            if _is_box(sides):
                yield Box(sentence, *map(float, sides))
            else:
                _log.warning(
                    "padchest_gr: %s: a box is no left, top, right, bottom from 0 to 1: left out", key
                )


def _is_box(sides: Any) -> bool:
    if not isinstance(sides, list) or len(sides) != 4:
        return False
    if not all(isinstance(side, int | float) and math.isfinite(side) and 0 <= side <= 1 for side in sides):
        return False
    left, top, right, bottom = sides
    return bool(left < right and top < bottom)
