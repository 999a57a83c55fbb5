"""What is asked of records together: no film twice, one patient and report a study, one split a patient.

Runs in source order and remembers what it admitted, a few hundred bytes a film. That memory is made of
`Seen` alone, so a resumed run gets it back from a list of them (`radrl.data.shards`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NotRequired, TypedDict, cast, get_args

import pyarrow as pa

from radrl.data.prepare import Prepared
from radrl.data.quarantine import PatientInTwoSplits, Refusal, Refused
from radrl.data.study import SPLITS, Box
from radrl.parts.choices import require_one_of
from radrl.reports.sections import tidy

CORPUS: Final = pa.schema(
    [
        pa.field("sample_id", pa.string(), nullable=False),  # unique
        pa.field("study_id", pa.string(), nullable=False),
        pa.field("patient_id", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),  # one of radrl.data.study.SPLITS
        pa.field("views", pa.list_(pa.string()), nullable=False),  # of radrl.data.study.VIEWS, as images
        pa.field("images", pa.list_(pa.binary()), nullable=False),  # PNG, 8 bit, grey
        pa.field("findings", pa.string()),
        pa.field("impression", pa.string()),
        pa.field("report", pa.string(), nullable=False),  # the target text
        pa.field("label_text", pa.string(), nullable=False),  # what labelers read of it, as ingest.labels_of
        pa.field("gold", pa.list_(pa.int8())),  # 14 class indices, or null
        pa.field("source_keys", pa.list_(pa.string()), nullable=False),  # as images
        pa.field("digest", pa.binary(32), nullable=False),  # of all the others: `row_digest`
    ]
)
"""One row a sample, a film or a study with all its kept films; the shards have exactly these columns, and
those of `CONTEXT` that are asked for."""

CONTEXT: Final[Mapping[str, pa.Field]] = {
    "indication": pa.field("indication", pa.string()),
    "age": pa.field("age", pa.int16()),  # years
    "prior": pa.field("taken", pa.int64()),  # grows from one study of a patient to the next
    "boxes": pa.field(
        "boxes",
        pa.list_(pa.struct([("sentence", pa.string()), *((side, pa.float32()) for side in Box._fields[1:])])),
    ),
}
"""By what `ingest.context` names the column besides: by place of a prompt (`radrl.reports.prompts.PLACES`),
and the boxes on a sample's first film, which pages draw."""


def corpus_schema(context: Sequence[str]) -> pa.Schema:
    """The columns of a corpus.

    Args:
        context: keys of `CONTEXT`.
    """
    return pa.schema([*CORPUS, *(CONTEXT[name] for name in CONTEXT if name in context)])


class CorpusRow(TypedDict):
    """One row of `CORPUS` as Python values."""

    sample_id: str
    study_id: str
    patient_id: str
    split: str
    views: list[str]
    images: list[bytes]
    findings: str | None
    impression: str | None
    report: str
    label_text: str
    gold: list[int] | None
    source_keys: list[str]
    digest: bytes
    indication: NotRequired[str | None]
    age: NotRequired[int | None]
    taken: NotRequired[int | None]
    boxes: NotRequired[list[dict[str, Any]] | None]


def row_digest(row: Mapping[str, Any]) -> bytes:
    """SHA-256 of a row: what a stage works on is named by these, and films need not be hashed again.

    Args:
        row: values of `CORPUS`; its own `digest` does not count.
    """
    texts = {name: value for name, value in row.items() if name not in ("images", "digest")}
    digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode())
    for film in row["images"]:
        digest.update(hashlib.sha256(film).digest())
    return digest.digest()


Crossing = Literal["refuse", "allow"]
CROSSINGS: Final[tuple[Crossing, ...]] = get_args(Crossing)
"""What is done with a patient whom the source puts into two splits."""


def check_shares(shares: Mapping[str, float]) -> None:
    """Refuse shares that name no split, are negative or do not add up to 1.

    Raises:
        ValueError: with the shares and the valid names.
    """
    if unknown := set(shares) - set(SPLITS):
        raise ValueError(f"split_shares names {sorted(unknown)}; valid: {', '.join(SPLITS)}")
    negative = any(not share >= 0 for share in shares.values())  # so that NaN is caught too
    if negative or not math.isclose(sum(shares.values()), 1, abs_tol=1e-6):
        raise ValueError(f"split_shares must not be negative and must add up to 1, got {dict(shares)}")


def draw(patient_id: str, *, seed: int, shares: Mapping[str, float]) -> str:
    """Draw a patient's split from a hash of seed and patient.

    The draw depends on nothing else, so it needs no second pass over the source and a patient's split
    stays when studies are added or leave.

    Args:
        patient_id: the patient.
        seed: another seed is another, independent partition.
        shares: expected share of patients a split, adding up to 1 (`check_shares`).

    Returns:
        One of `SPLITS`.
    """
    digest = hashlib.sha256(f"{seed}\0{patient_id}".encode()).digest()
    u = (int.from_bytes(digest[:8], "big") >> 11) / 2**53  # 53 bits: exact in a float and below 1
    offered = [split for split in SPLITS if shares.get(split, 0) > 0]
    reached = 0.0
    for split in offered:
        reached += shares[split]
        if u < reached:
            return split
    return offered[-1]  # shares whose float sum stays a hair below 1


def patient_hash(patient_id: str) -> str:
    """Name a patient in a message without giving the identifier away."""
    return hashlib.sha256(patient_id.encode()).hexdigest()[:12]


class PatientSplits:
    """The split of every patient met so far.

    Args:
        seed: of the draw for patients whose split the source does not state.
        shares: of the draw.
        crossing: whether a patient may stand in two splits because the source says so.

    Attributes:
        crossed: patients who stand in two.
    """

    def __init__(self, *, seed: int, shares: Mapping[str, float], crossing: Crossing = "refuse") -> None:
        check_shares(shares)
        require_one_of("patients_in_two_splits", crossing, CROSSINGS)
        self._crossing = crossing
        self.crossed: set[str] = set()
        self._seed = seed
        self._shares = dict(shares)
        self._met: dict[str, tuple[str, str]] = {}  # patient -> split, and the key and kind of its origin

    def assign(self, patient_id: str, *, stated: str | None, key: str) -> str:
        """Give a patient's split.

        Args:
            patient_id: the patient.
            stated: the split the source states (one of `SPLITS`), or nothing.
            key: of the record, for the message.

        Returns:
            The stated split; where there is none the one this patient already has, else a draw.

        Raises:
            PatientInTwoSplits: the patient already stands in another split, and that is not allowed.
        """
        known, origin = self._met.get(patient_id, (None, ""))
        split = stated or known or draw(patient_id, seed=self._seed, shares=self._shares)
        if known not in (None, split) and self._crossing == "allow":
            self.crossed.add(patient_id)
        elif known not in (None, split):
            raise PatientInTwoSplits(
                f"patient {patient_hash(patient_id)} stands in two splits: {known} ({origin}) and {split} "
                f"({key}, stated); give every record of the patient the same split, or none, or set "
                "ingest.patients_in_two_splits to allow"
            )
        if known is None:
            self._met[patient_id] = (split, f"{key}, {'stated' if stated else 'drawn'}")
        return split


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
    def from_prepared(cls, prepared: Prepared) -> Seen:
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
        seen = Seen.from_prepared(prepared)
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


def row(films: Sequence[Admitted], sample_id: str, context: Sequence[str] = ()) -> CorpusRow:
    """One row of the corpus.

    Args:
        films: one film, or all of one study; the first one's report, split, gold labels and context are the
            row's.
        sample_id: the row's id.
        context: keys of `CONTEXT` whose columns the row has.

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
    more = {
        "indication": tidy(record.indication) or None,
        "age": record.age,
        "taken": record.taken,
        "boxes": None if record.boxes is None else [box._asdict() for box in record.boxes],
    }
    columns = [CONTEXT[name].name for name in context]
    made = cast(CorpusRow, made | {name: more[name] for name in columns})
    made["digest"] = row_digest(made)
    return made
