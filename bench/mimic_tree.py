"""Trees in the shape of MIMIC-CXR, of any size, with invented texts and films of noise."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import random
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from PIL import Image

REPORT = """\
                                 FINAL REPORT
 EXAMINATION:  CHEST (PA AND LAT)
 
 INDICATION:  ___F with cough
 
 FINDINGS: 
 
 The lungs are clear.
 
 IMPRESSION: 
 
 No acute process.
"""  # noqa: W291, W293

COLUMNS = {
    "mimic-cxr-2.0.0-metadata": (
        *("dicom_id", "subject_id", "study_id", "PerformedProcedureStepDescription", "ViewPosition", "Rows"),
        *("Columns", "StudyDate", "StudyTime", "ProcedureCodeSequence_CodeMeaning"),
        *("ViewCodeSequence_CodeMeaning", "PatientOrientationCodeSequence_CodeMeaning"),
    ),
    "mimic-cxr-2.0.0-split": ("dicom_id", "study_id", "subject_id", "split"),
    "cxr-record-list": ("subject_id", "study_id", "dicom_id", "path"),
    "cxr-study-list": ("subject_id", "study_id", "path"),
}
VIEWS = (("PA", "LATERAL"), ("AP",), ("PA", "LL"), ("AP", "AP"), ("",))


@dataclass(frozen=True, slots=True)
class Study:
    """One study: its films by their ViewPositions, its split, and the content of its report file."""

    subject: int
    study: int
    views: tuple[str, ...] = ("PA",)
    split: str = "train"
    report: str | bytes | None = REPORT

    @property
    def names(self) -> tuple[str, ...]:
        """The dicom_id of each film."""
        digests = (hashlib.sha1(f"{self.study}/{i}".encode()).hexdigest() for i in range(len(self.views)))
        return tuple("-".join(digest[j : j + 8] for j in range(0, 40, 8)) for digest in digests)

    @property
    def folder(self) -> str:
        """The study's folder; its report is this with `.txt`."""
        return f"files/p{str(self.subject)[:2]}/p{self.subject}/s{self.study}"


def draw_studies(films: int, *, seed: int = 0) -> Iterator[Study]:
    """Draw studies of one or two films, three to six films a patient, until there are `films` films."""
    rng = random.Random(seed)
    subject, study = 10_000_000, 50_000_000
    while films > 0:
        subject += rng.randrange(1, 100)
        split = rng.choices(("train", "validate", "test"), (97, 1, 2))[0]
        for _ in range(3):
            study += rng.randrange(1, 20)
            views = rng.choice(VIEWS)[:films]
            films -= len(views)
            if views:
                yield Study(subject, study, views, split)


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Path:
    """Write a table, compressed where its name ends in .gz."""
    with _opened(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def write_tables(
    folder: Path, studies: Iterable[Study], *, end: str = ".csv.gz", kinds: Iterable[str] = tuple(COLUMNS)
) -> None:
    """Write the tables of some studies in one pass over them."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        writers = {}
        for kind in kinds:
            stream = stack.enter_context(_opened(folder / f"{kind}{end}"))
            writers[kind] = csv.writer(stream, lineterminator="\n")
            writers[kind].writerow(COLUMNS[kind])
        for study in studies:
            for kind, writer in writers.items():
                writer.writerows(_rows(kind, study))


def _rows(kind: str, study: Study) -> Iterator[tuple[Any, ...]]:
    if kind == "cxr-study-list":
        yield study.subject, study.study, f"{study.folder}.txt"
        return
    for name, view in zip(study.names, study.views, strict=True):
        if kind == "cxr-record-list":
            yield study.subject, study.study, name, f"{study.folder}/{name}.dcm"
        elif kind == "mimic-cxr-2.0.0-split":
            yield name, study.study, study.subject, study.split
        else:
            size_and_date = (3056, 2544, 21800506, "213014.531")
            yield (
                name,
                study.subject,
                study.study,
                "CHEST (PA AND LAT)",
                view,
                *size_and_date,
                "",
                "",
                "Erect",
            )


def _opened(path: Path) -> IO[str]:
    if path.suffix != ".gz":
        return path.open("w", newline="")
    return io.TextIOWrapper(gzip.GzipFile(path, "wb", compresslevel=1, mtime=0), newline="")


def write_reports(folder: Path, studies: Iterable[Study]) -> None:
    """Write the report files of those studies that have one."""
    for study in studies:
        if study.report is not None:
            path = folder / f"{study.folder}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_bytes(study.report))


def write_zip(path: Path, studies: Iterable[Study]) -> Path:
    """Write mimic-cxr-reports.zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for study in studies:
            if study.report is not None:
                archive.writestr(f"{study.folder}.txt", _bytes(study.report))
    return path


def _bytes(report: str | bytes) -> bytes:
    return report.encode() if isinstance(report, str) else report


def write_films(folder: Path, studies: Iterable[Study], *, suffix: str = "jpg") -> None:
    """Write a film of noise for each film; `.dcm` ones have a DICOM file's first bytes and nothing else."""
    for study in studies:
        place = folder / study.folder
        place.mkdir(parents=True, exist_ok=True)
        for name in study.names:
            path = place / f"{name}.{suffix}"
            if suffix == "dcm":
                path.write_bytes(bytes(128) + b"DICM")
            else:
                seed = int(name[:8], 16)
                pixels = np.random.default_rng(seed).integers(0, 256, (24, 20), dtype=np.uint8)
                Image.fromarray(pixels).save(path, "JPEG", quality=95)


def entries(study: Study, report: str) -> list[dict[str, Any]]:
    """The entries of a study's films in R2Gen's annotation.json."""
    return [
        {
            "id": name,
            "study_id": study.study,
            "subject_id": study.subject,
            "report": report,
            "image_path": [f"{study.folder.removeprefix('files/')}/{name}.jpg"],
            "split": study.split,
        }
        for name in study.names
    ]


def write_annotation(path: Path, splits: Mapping[str, list[dict[str, Any]]], **options: Any) -> Path:
    """Write R2Gen's annotation.json."""
    path.write_text(json.dumps(splits, **options), encoding="utf-8")
    return path
