"""From a source's records to the corpus and the quarantine, in one streaming pass.

The work is in two halves. `prepare` looks at one record alone (text, path, pixels) and takes and gives
picklable values, so the costly half can be mapped over processes. `Admission` holds what needs memory of the
records before (duplicates, study ids, splits) and runs in source order, so its state after n records is
all that a resumed run needs. Memory grows by a few hundred bytes a film, never by its pixels.

Input = kept + quarantined, always; the count is checked at the end of the pass.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from radrl.data import images
from radrl.data.quarantine import Quarantine, Refusal, Refused
from radrl.data.schema import CORPUS, CorpusRow
from radrl.data.splits import SPLITS, PatientSplits, canonical
from radrl.data.study import Draw, Record
from radrl.data.views import VIEWS
from radrl.observations import OBSERVATIONS, UNCERTAIN
from radrl.reports.sections import TARGETS, Target, compose, tidy, word_count


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked of one record. The arguments are those of `ingest`."""

    target: Target
    image_size: int
    image_fit: images.Fit
    image_root: Path | None
    min_report_words: int

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise ValueError(f"target {self.target!r} is unknown; valid: {', '.join(TARGETS)}")
        if self.image_fit not in images.FITS:
            raise ValueError(f"image_fit {self.image_fit!r} is unknown; valid: {', '.join(images.FITS)}")
        if self.image_size < images.MIN_SIDE:
            raise ValueError(f"image_size must be at least {images.MIN_SIDE}, got {self.image_size}")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record that is sound by itself.

    Args:
        record: as the source gave it, without its pixels.
        image_name: path as the source gives it, or nothing for pixels.
        study_id: the source's, else the film's path, else the record's key.
        split: one of `radrl.data.splits.SPLITS`, or nothing when the source states none.
        report: the target text.
        png: the fitted film.
        pixels: SHA-256 of the decoded film before fitting.
    """

    record: Record
    image_name: str | None
    study_id: str
    split: str | None
    report: str
    png: bytes
    pixels: bytes


def prepare(record: Record | Refusal, rules: Rules) -> Prepared | Refusal:
    """Check and convert one record by itself.

    Args:
        record: one record, or what the source already had to refuse, which is passed on.
        rules: what is asked of it.

    Returns:
        The prepared record, or its refusal with the reason.

    Raises:
        ValueError: the source breaks its contract: a view or gold labels that cannot be, or a path where
            there is no `image_root`.
    """
    if isinstance(record, Refusal):
        return record
    _check_contract(record, rules)
    name = _given(record.image, rules.image_root)
    try:
        split, report = _split(record), _report(record, rules)
        film = _film(record, rules)
    except Refused as refused:
        return Refusal(record.key, refused.reason, refused.detail, record.study_id, name)
    return Prepared(
        record=_without_pixels(record),
        image_name=name,
        study_id=record.study_id or name or record.key,
        split=split,
        report=report,
        png=images.encode_png(images.fit(film, size=rules.image_size, how=rules.image_fit)),
        pixels=hashlib.sha256(repr(film.shape).encode() + film.tobytes()).digest(),
    )


def _check_contract(record: Record, rules: Rules) -> None:
    if record.view not in VIEWS:
        raise ValueError(f"{record.key}: view {record.view!r}; valid: {', '.join(VIEWS)}")
    if isinstance(record.image, Path) and rules.image_root is None:
        raise ValueError(f"{record.key} gives its film as a path, so ingest needs image_root")
    gold = record.gold
    if gold is not None and (len(gold) != len(OBSERVATIONS) or not set(gold) <= set(range(UNCERTAIN + 1))):
        valid = f"{len(OBSERVATIONS)} class indices 0 to {UNCERTAIN}"
        raise ValueError(f"{record.key}: gold must be {valid}, got {gold}")


def _given(image: Path | images.Film | Draw | None, root: Path | None) -> str | None:
    if not isinstance(image, Path):
        return None
    return str(image.relative_to(root)) if root and image.is_relative_to(root) else str(image)


def _split(record: Record) -> str | None:
    if record.split is None:
        return None
    if (split := canonical(record.split)) is None:
        raise Refused("unknown_split", f"split {record.split!r}; valid: {', '.join(SPLITS)}")
    return split


def _report(record: Record, rules: Rules) -> str:
    text = compose(rules.target, findings=record.findings, impression=record.impression, report=record.report)
    words = word_count(text)
    if words == 0:
        other = record.report and rules.target != "report"
        hint = "; the source has a whole report: set target to report" if other else ""
        raise Refused("empty_report", f"no words for target {rules.target}{hint}")
    if words < rules.min_report_words:
        raise Refused("short_report", f"{words} words; min_report_words is {rules.min_report_words}")
    return text


def _film(record: Record, rules: Rules) -> images.Film:
    if record.image is None:
        raise Refused("missing_image", "the source names no film")
    if isinstance(record.image, np.ndarray):
        return images.check(record.image)
    if not isinstance(record.image, Path):
        return images.check(record.image())
    assert rules.image_root is not None  # _check_contract
    return images.decode(images.locate(record.image, rules.image_root))


def _without_pixels(record: Record) -> Record:
    if record.image is None or isinstance(record.image, Path):
        return record
    fields = {name: getattr(record, name) for name in Record.__slots__}
    return Record(**{**fields, "image": None})


@dataclass(frozen=True, slots=True)
class _Study:
    patient_id: str
    report: bytes  # SHA-256
    key: str


@dataclass(slots=True)
class Admission:
    """Admits prepared records to the corpus in source order.

    Args:
        splits: gives every patient one split.
        films: by pixels, key and report's hash of the first record that shows them.
        studies: by id.
        films_of_study: how many films of a study were admitted.
    """

    splits: PatientSplits
    films: dict[bytes, tuple[str, bytes]] = field(default_factory=dict)
    studies: dict[str, _Study] = field(default_factory=dict)
    films_of_study: Counter[str] = field(default_factory=Counter)

    def admit(self, prepared: Prepared) -> CorpusRow | Refusal:
        """Give a prepared record its place in the corpus.

        Returns:
            Its row, or the refusal of a duplicate.

        Raises:
            PatientInTwoSplits: the source puts its patient into two splits.
        """
        record, study_id = prepared.record, prepared.study_id
        patient_id, report = record.patient_id or study_id, hashlib.sha256(prepared.report.encode()).digest()
        try:
            self._check_film(prepared.pixels, report)
            self._check_study(study_id, patient_id, report)
        except Refused as refused:
            return Refusal(record.key, refused.reason, refused.detail, record.study_id, prepared.image_name)
        split = self.splits.assign(patient_id, stated=prepared.split, key=record.key)
        self.films[prepared.pixels] = (record.key, report)
        self.studies.setdefault(study_id, _Study(patient_id, report, record.key))
        self.films_of_study[study_id] += 1
        return _row(prepared, patient_id, split, self.films_of_study[study_id])

    def _check_film(self, pixels: bytes, report: bytes) -> None:
        first = self.films.get(pixels)
        if first is not None:
            kind = "the same" if first[1] == report else "another"
            raise Refused("duplicate_film", f"same pixels as {first[0]}, with {kind} report")

    def _check_study(self, study_id: str, patient_id: str, report: bytes) -> None:
        first = self.studies.get(study_id)
        if first is not None and first.patient_id != patient_id:
            raise Refused("duplicate_id", f"{first.key} has this study id with another patient")
        if first is not None and first.report != report:
            raise Refused("duplicate_id", f"{first.key} has this study id with another report")


def _row(prepared: Prepared, patient_id: str, split: str, number: int) -> CorpusRow:
    record = prepared.record
    return CorpusRow(
        film_id=f"{prepared.study_id}_{number}",
        study_id=prepared.study_id,
        patient_id=patient_id,
        split=split,
        view=record.view,
        image=prepared.png,
        findings=tidy(record.findings) or None,
        impression=tidy(record.impression) or None,
        report=prepared.report,
        gold=None if record.gold is None else list(record.gold),
        source_key=record.key,
    )


class Ingestion:
    """One pass over a source: iterate it for the corpus, then ask it for the quarantine.

    The pass can be made once. It ends with the check that nothing was lost and that not too much was refused.

    Args:
        records: what the source gives.
        rules: what is asked of one record.
        admission: what is asked of records together.
        max_quarantined_share: the largest share of records that may be refused.
    """

    def __init__(
        self,
        records: Iterable[Record | Refusal],
        *,
        rules: Rules,
        admission: Admission,
        max_quarantined_share: float,
    ) -> None:
        self._records = records
        self._rules = rules
        self._admission = admission
        self._limit = max_quarantined_share
        self._quarantine = Quarantine()
        self._state = "fresh"
        self.read = 0
        self.kept = 0

    def __iter__(self) -> Iterator[CorpusRow]:
        """Yield the corpus row by row, in source order.

        Raises:
            RuntimeError: the pass was already begun.
            TooManyQuarantined: at its end.
            ValueError: the source gave no record, nothing was kept, or a patient stands in two splits.
            AssertionError: a record was lost, which is a defect of this module.
        """
        if self._state != "fresh":
            raise RuntimeError("the pass over this source was already begun; call ingest again")
        self._state = "running"
        for prepared in map(partial(prepare, rules=self._rules), self._counted()):
            outcome = prepared if isinstance(prepared, Refusal) else self._admission.admit(prepared)
            if isinstance(outcome, Refusal):
                self._quarantine.add(outcome)
            else:
                self.kept += 1
                yield outcome
        self._check()
        self._state = "done"

    def tables(self, *, rows: int) -> Iterator[pa.Table]:
        """Yield the corpus in tables with the columns of `CORPUS`, of `rows` rows but for the last."""
        corpus = iter(self)
        while shard := list(islice(corpus, rows)):
            yield pa.Table.from_pylist(shard, schema=CORPUS)

    @property
    def quarantine(self) -> Quarantine:
        """What was refused; complete, and given, only after the pass.

        Raises:
            RuntimeError: the pass did not come to its end.
        """
        if self._state != "done":
            raise RuntimeError("the quarantine is complete only when the corpus was read to its end")
        return self._quarantine

    def _counted(self) -> Iterator[Record | Refusal]:
        for record in self._records:
            self.read += 1
            yield record

    def _check(self) -> None:
        if self.read == 0:
            raise ValueError("the source gave no record")
        refused = len(self._quarantine)
        if self.read != self.kept + refused:
            raise AssertionError(f"{self.read} records, but {self.kept} kept and {refused} quarantined")
        self._quarantine.check_share(self.read, limit=self._limit)
        if self.kept == 0:
            raise ValueError(f"nothing was kept of {self.read} records:\n{self._quarantine.summary()}")


def ingest(
    records: Iterable[Record | Refusal],
    *,
    seed: int,
    target: Target,
    image_size: int,
    image_fit: images.Fit,
    split_shares: Mapping[str, float],
    max_quarantined_share: float,
    min_report_words: int = 1,
    image_root: Path | None = None,
) -> Ingestion:
    """Turn a source's records into a corpus and a quarantine.

    Nothing is read before the result is iterated.

    Args:
        records: what a source gives (`radrl.data.sources`).
        seed: of the split of patients whose split the source does not state.
        target: which text becomes the corpus column `report` (`radrl.reports.sections.compose`).
        image_size: side of the corpus's films in pixels.
        image_fit: how films are brought to it (`radrl.data.images.fit`).
        split_shares: share of patients a split; must add up to 1.
        max_quarantined_share: the largest share of records that may be refused.
        min_report_words: reports with fewer words are refused.
        image_root: the folder that no film's path may leave; needed for sources that give paths.

    Returns:
        The pass, to be iterated once.

    Raises:
        ValueError: an argument is out of its range; the message names it and what is valid.
    """
    if not 0 <= max_quarantined_share <= 1:
        raise ValueError(f"max_quarantined_share must lie between 0 and 1, got {max_quarantined_share}")
    return Ingestion(
        records,
        rules=Rules(target, image_size, image_fit, image_root, min_report_words),
        admission=Admission(PatientSplits(seed=seed, shares=split_shares)),
        max_quarantined_share=max_quarantined_share,
    )
