"""From a source's records to the corpus and the quarantine, in one streaming pass.

    records of a study -> `prepare`, over processes -> `Admission`, in order -> rows of the corpus

Memory grows by a few hundred bytes a film, never by its pixels. Input = kept + quarantined, always; the
count is checked at the end of the pass. `radrl.data.shards` writes the rows so that a killed pass goes on.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

from tqdm import tqdm

from radrl.data.admission import (
    CONTEXT,
    Admission,
    Admitted,
    CorpusRow,
    Crossing,
    Note,
    PatientSplits,
    Seen,
    row,
)
from radrl.data.prepare import Prepared, Rules, prepare
from radrl.data.quarantine import Quarantine, Refusal
from radrl.data.sources import Source
from radrl.data.study import Record
from radrl.data.tables import SourceError
from radrl.parts.choices import require_one_of
from radrl.process import children

In = TypeVar("In")
Out = TypeVar("Out")

_AHEAD: Final = 4
"""Batches a process may be ahead of the slowest one that came before."""

Sample = Literal["image", "study"]
SAMPLES: Final[tuple[Sample, ...]] = get_args(Sample)
"""What a row of the corpus is: a film with its report, or a study with all its films (multi-view)."""
Study = list[Record | Refusal]
"""Records that stand together in the source and name one study."""
STUDIES_AT_ONCE: Final = 8
"""Handed to a process together."""


def available() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def mapped(work: Callable[[In], Out], items: Iterable[In], *, processes: int, batch: int) -> Iterator[Out]:
    """Map in order over processes.

    Args:
        work: picklable; its module is imported anew by each process.
        items: picklable; read as they are needed, at most a few batches a process ahead.
        processes: 1 works in this one.
        batch: items handed over at once.

    Yields:
        What `work` gives, in the order of items.

    Raises:
        RuntimeError: a process was killed from outside, most often for want of memory.
        Exception: what `work` raises.
    """
    if processes == 1:
        yield from map(work, items)
        return
    source = iter(items)
    pending: deque[Future[list[Out]]] = deque()
    pool = ProcessPoolExecutor(processes, mp_context=children.context(), initializer=children.end_with_pool)
    try:
        for part in iter(lambda: list(islice(source, batch)), []):
            pending.append(pool.submit(_each, work, part))
            if len(pending) >= _AHEAD * processes:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "a process was killed, most often for want of memory; set ingest.workers lower, and run again: "
            "what is finished is kept"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _each(work: Callable[[In], Out], items: list[In]) -> list[Out]:
    return [work(item) for item in items]


@dataclass(frozen=True, slots=True)
class PreparedStudy:
    """The records of one study after what is asked of each alone.

    Args:
        digest: of what the source says, films' pixels not looked at.
        outcomes: what became of each record.
    """

    digest: str
    outcomes: list[Prepared | Refusal]


def digest(study: Study) -> str:
    """A digest of what a source says of a study; a film counts by its path, a drawn one not at all."""
    told = [each if isinstance(each, Refusal) else replace(each, image=_path(each)) for each in study]
    return hashlib.sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()


def _path(record: Record) -> Path | None:
    return record.image if isinstance(record.image, Path) else None


def prepare_study(study: Study, rules: Rules) -> PreparedStudy:
    """Prepare the records of one study (`radrl.data.prepare.prepare`)."""
    return PreparedStudy(digest(study), [prepare(each, rules) for each in study])


class Ingestion:
    """One pass over a source: iterate it for the corpus, then ask it for the quarantine.

    The pass can be made once. It ends with the check that nothing was lost and that not too much was refused.

    Args:
        source: what gives the records.
        rules: what is asked of one record.
        admission: what is asked of records together.
        sample: what a row of the corpus is.
        max_quarantined_share: the largest share of records that may be refused.
        workers: processes that decode films.
        title: of the progress bar; nothing for none.
        context: keys of `radrl.data.admission.CONTEXT` whose columns the corpus has.

    Attributes:
        read: records so far.
        kept: films so far.
        samples: rows of the corpus so far.
    """

    def __init__(
        self,
        source: Source,
        *,
        rules: Rules,
        admission: Admission,
        sample: Sample,
        max_quarantined_share: float,
        workers: int,
        title: str | None,
        context: Sequence[str] = (),
    ) -> None:
        self._source = source
        self.context = tuple(context)
        self._rules = rules
        self._admission = admission
        self._sample = sample
        self._limit = max_quarantined_share
        self._workers = workers
        self._title = title
        self._quarantine = Quarantine()
        self._state = "fresh"
        self.read = self.kept = self.samples = 0

    def __iter__(self) -> Iterator[CorpusRow]:
        """Yield the corpus row by row, in source order.

        Raises:
            RuntimeError: the pass was already begun.
            TooManyQuarantined: at its end.
            SourceError: the source gave no record, or nothing was kept.
            ValueError: a patient stands in two splits.
            AssertionError: a record was lost, which is a defect of this module.
        """
        for study in self.prepared(self.begin()):
            rows, _ = self.admit(study)
            yield from rows
        self.end()

    @property
    def quarantine(self) -> Quarantine:
        """What was refused; complete, and given, only after the pass.

        Raises:
            RuntimeError: the pass did not come to its end.
        """
        if self._state != "done":
            raise RuntimeError("the quarantine is complete only when the corpus was read to its end")
        return self._quarantine

    @property
    def splits(self) -> dict[str, int]:
        """Films kept, by split."""
        return dict(sorted(self._admission.films_of_split.items()))

    @property
    def patients_in_two_splits(self) -> int:
        """Patients whom the source puts into more than one split, where that is allowed."""
        return len(self._admission.splits.crossed)

    @property
    def studies_kept(self) -> int:
        """Studies of which a film was kept."""
        return len(self._admission)

    @property
    def studies_quarantined(self) -> int:
        """Studies of which none was; records that name no study do not count."""
        named = {refused.study_id for refused in self._quarantine if refused.study_id}
        return sum(study not in self._admission for study in named)

    def begin(self) -> Iterator[Study]:
        """Begin the pass: the source's studies.

        Raises:
            RuntimeError: it was begun before.
        """
        if self._state != "fresh":
            raise RuntimeError("the pass over this source was already begun; call ingest again")
        self._state = "running"
        return self._studies()

    def prepared(self, studies: Iterable[Study]) -> Iterator[PreparedStudy]:
        """Prepare studies over the processes, in order, with a progress bar."""
        work = partial(prepare_study, rules=self._rules)
        title, total = self._title, self._source.films
        with tqdm(
            desc=title, total=total, initial=self.read, unit=" films", mininterval=1, disable=title is None
        ) as bar:
            for study in mapped(work, studies, processes=self._workers, batch=STUDIES_AT_ONCE):
                yield study
                bar.update(len(study.outcomes))

    def admit(self, study: PreparedStudy) -> tuple[list[CorpusRow], list[Note]]:
        """Give a study's films their places.

        Returns:
            Its rows of the corpus, and what is to be remembered of each record, in order.
        """
        admit = self._admission.admit if self._whole(study) else self._admission.turn_away
        outcomes = [each if isinstance(each, Refusal) else admit(each) for each in study.outcomes]
        notes = [each if isinstance(each, Refusal) else each.seen for each in outcomes]
        for note in notes:
            self._count(note)
        return self._rows([each for each in outcomes if isinstance(each, Admitted)]), notes

    def restore(self, notes: Sequence[Note], samples: int) -> None:
        """Take in what a run that was killed had done.

        Args:
            notes: what `admit` gave, in order.
            samples: how many rows it made.
        """
        for note in notes:
            if isinstance(note, Seen):
                self._admission.remember(note)
            self._count(note)
        self.samples += samples

    def end(self) -> None:
        """End the pass with its checks."""
        refused = len(self._quarantine)
        if self.read == 0:
            raise SourceError("the source gave no record; mend what params.yaml names under ingest")
        if self.read != self.kept + refused:
            raise AssertionError(f"{self.read} records, but {self.kept} kept and {refused} quarantined")
        self._quarantine.check_share(self.read, limit=self._limit)
        if self.kept == 0:
            raise SourceError(
                f"nothing was kept of {self.read} records; mend the source:\n{self._quarantine.summary()}"
            )
        self._state = "done"

    def _studies(self) -> Iterator[Study]:
        # records that name no study stand alone
        numbered = ((each.study_id or number, each) for number, each in enumerate(self._source.records))
        for _, group in groupby(numbered, key=lambda pair: pair[0]):
            yield [each for _, each in group]

    def _whole(self, study: PreparedStudy) -> bool:
        """Whether a row can be made of it: a study's films that come later would make a second one."""
        first = next((each for each in study.outcomes if isinstance(each, Prepared)), None)
        return self._sample == "image" or first is None or first.study_id not in self._admission

    def _rows(self, films: Sequence[Admitted]) -> list[CorpusRow]:
        if self._sample == "image":
            rows = [row([film], f"{film.seen.study_id}_{film.number}", self.context) for film in films]
        else:
            rows = [row(films, films[0].seen.study_id, self.context)] if films else []
        self.samples += len(rows)
        return rows

    def _count(self, note: Note) -> None:
        self.read += 1
        if isinstance(note, Refusal):
            self._quarantine.add(note)
        else:
            self.kept += 1


def ingest(
    source: Source | Iterable[Record | Refusal],
    *,
    seed: int,
    split_shares: Mapping[str, float],
    max_quarantined_share: float,
    sample: Sample = "image",
    patients_in_two_splits: Crossing = "refuse",
    workers: int | None = 1,
    title: str | None = None,
    context: Sequence[str] = (),
    **rules: Any,
) -> Ingestion:
    """Turn a source's records into a corpus and a quarantine.

    Nothing is read before the result is iterated.

    Args:
        source: a source, or its records.
        seed: of the split of patients whose split the source does not state.
        split_shares: share of patients a split; must add up to 1.
        max_quarantined_share: the largest share of records that may be refused.
        sample: what a row of the corpus is.
        patients_in_two_splits: refuse, or allow and count.
        workers: processes that decode films; nothing for one a core. The corpus does not depend on it.
        title: of the progress bar; nothing for none.
        context: keys of `radrl.data.admission.CONTEXT`: what the corpus has of a study besides.
        **rules: the arguments of `radrl.data.prepare.Rules`.

    Returns:
        The pass, to be iterated once.

    Raises:
        ValueError: an argument is out of its range; the message names it and what is valid.
    """
    if not 0 <= max_quarantined_share <= 1:
        raise ValueError(f"max_quarantined_share must lie between 0 and 1, got {max_quarantined_share}")
    require_one_of("sample", sample, SAMPLES)
    for name in context:
        require_one_of("context", name, tuple(CONTEXT))
    splits = PatientSplits(seed=seed, shares=split_shares, crossing=patients_in_two_splits)
    return Ingestion(
        source if isinstance(source, Source) else Source(iter(source)),
        rules=Rules(**rules),
        admission=Admission(splits),
        sample=sample,
        max_quarantined_share=max_quarantined_share,
        workers=available() if workers is None else workers,
        title=title,
        context=context,
    )
