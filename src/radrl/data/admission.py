"""What is asked of records together: no film twice, one patient and report a study, one split a patient.

Runs in source order and remembers what it admitted, a few hundred bytes a film. That memory is made of
`Seen` alone, so a resumed run gets it back from a list of them (`radrl.data.shards`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from radrl.data.prepare import Prepared
from radrl.data.quarantine import Refusal, Refused
from radrl.data.schema import CorpusRow, row_digest
from radrl.data.splits import PatientSplits
from radrl.reports.sections import tidy


@dataclass(frozen=True, slots=True)
class Seen:
    """What is remembered of one admitted film.

    Args:
        key: where its record stands in the source.
        study_id: its study.
        patient_id: its patient.
        split: what the source states, or nothing.
        pixels: SHA-256 of the decoded film.
        report: SHA-256 of the target text.
    """

    key: str
    study_id: str
    patient_id: str
    split: str | None
    pixels: bytes
    report: bytes

    @classmethod
    def of(cls, prepared: Prepared) -> Seen:
        """What would be remembered of a prepared record."""
        return cls(
            key=prepared.record.key,
            study_id=prepared.study_id,
            patient_id=prepared.record.patient_id or prepared.study_id,
            split=prepared.split,
            pixels=prepared.pixels,
            report=hashlib.sha256(prepared.report.encode()).digest(),
        )


Note = Seen | Refusal
"""What is remembered of one record."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A film that has its place in the corpus.

    Args:
        prepared: the film and its report.
        seen: what is remembered of it.
        split: of its patient.
        number: of the film in its study, from 1.
    """

    prepared: Prepared
    seen: Seen
    split: str
    number: int


@dataclass(slots=True)
class Admission:
    """Admits prepared records to the corpus in source order.

    Args:
        splits: gives every patient one split.

    Attributes:
        films_of_split: how many films were admitted to each.
    """

    splits: PatientSplits
    films_of_split: Counter[str] = field(default_factory=Counter)
    _films: dict[bytes, Seen] = field(default_factory=dict)
    _studies: dict[str, Seen] = field(default_factory=dict)
    _films_of_study: Counter[str] = field(default_factory=Counter)

    def admit(self, prepared: Prepared) -> Admitted | Refusal:
        """Give a prepared record its place in the corpus.

        Returns:
            Its place, or the refusal of a duplicate.

        Raises:
            PatientInTwoSplits: the source puts its patient into two splits, and that is not allowed.
        """
        seen = Seen.of(prepared)
        try:
            self._check_film(seen)
            self._check_study(seen)
        except Refused as refused:
            return _refusal(prepared, refused)
        split = self.remember(seen)
        return Admitted(prepared, seen, split, self._films_of_study[seen.study_id])

    def remember(self, seen: Seen) -> str:
        """Take in a film that is admitted, now or by the run that this one goes on from.

        Returns:
            Its split.
        """
        split = self.splits.assign(seen.patient_id, stated=seen.split, key=seen.key)
        self._films[seen.pixels] = seen
        self._studies.setdefault(seen.study_id, seen)
        self._films_of_study[seen.study_id] += 1
        self.films_of_split[split] += 1
        return split

    def turn_away(self, prepared: Prepared) -> Refusal:
        """Refuse a film whose study came before, where a study is one row."""
        first = self._studies[prepared.study_id].key
        mend = "sort the source by study, or set ingest.sample to image"
        refused = Refused("scattered_study", f"other films of the study stand at {first}; {mend}")
        return _refusal(prepared, refused)

    def __len__(self) -> int:
        return len(self._studies)

    def __contains__(self, study_id: str) -> bool:
        return study_id in self._studies

    def _check_film(self, seen: Seen) -> None:
        first = self._films.get(seen.pixels)
        if first is not None:
            kind = "the same" if first.report == seen.report else "another"
            raise Refused("duplicate_film", f"same pixels as {first.key}, with {kind} report")

    def _check_study(self, seen: Seen) -> None:
        first = self._studies.get(seen.study_id)
        if first is not None and first.patient_id != seen.patient_id:
            raise Refused("duplicate_id", f"{first.key} has this study id with another patient")
        if first is not None and first.report != seen.report:
            raise Refused("duplicate_id", f"{first.key} has this study id with another report")


def _refusal(prepared: Prepared, refused: Refused) -> Refusal:
    record = prepared.record
    return Refusal(record.key, refused.reason, refused.detail, record.study_id, prepared.image_name)


def row(films: Sequence[Admitted], sample_id: str) -> CorpusRow:
    """One row of the corpus.

    Args:
        films: one film, or all of one study; the first one's report, split and gold labels are the row's.
        sample_id: the row's id.

    Returns:
        The row.
    """
    first = films[0]
    record = first.prepared.record
    made = CorpusRow(
        sample_id=sample_id,
        study_id=first.seen.study_id,
        patient_id=first.seen.patient_id,
        split=first.split,
        views=[film.prepared.record.view for film in films],
        images=[film.prepared.png for film in films],
        findings=tidy(record.findings) or None,
        impression=tidy(record.impression) or None,
        report=first.prepared.report,
        label_text=first.prepared.label_text,
        gold=None if record.gold is None else list(record.gold),
        source_keys=[film.seen.key for film in films],
        digest=b"",
    )
    made["digest"] = row_digest(made)
    return made
