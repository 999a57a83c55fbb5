"""The corpus written shard by shard, each noted in a journal: a killed pass goes on after its last one."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from radrl.data import corpus
from radrl.data.admission import CorpusRow, Note, Seen, corpus_schema
from radrl.data.ingest import Ingestion, PreparedStudy, Study, digest
from radrl.data.quarantine import Refusal, TooManyQuarantined
from radrl.storage import json_files, table_files

_NOTES: Final = pa.schema(
    [
        pa.field("kept", pa.bool_()),
        *(pa.field(name, pa.string()) for name in ("key", "study_id", "patient_id", "split")),
        *(pa.field(name, pa.binary()) for name in ("pixels", "report")),
        *(pa.field(name, pa.string()) for name in ("reason", "detail", "image")),
    ]
)


@dataclass(frozen=True, slots=True)
class Shard:
    """A finished shard.

    Args:
        path: its rows, as `radrl.data.corpus.write` writes them.
        rows: how many.
        studies: how many groups of records were read for it.
        digest: of these records.
        notes: what became of each, in order.
    """

    path: Path
    rows: int
    studies: int
    digest: str
    notes: list[Note]


class Journal:
    """The finished shards of one run.

    Args:
        folder: where they lie; it outlives a kill.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, number: int) -> Shard | None:
        """The finished shard of a number, from 0, or nothing."""
        notes = self._notes(number)
        if not notes.is_file() or not self._shard(number).is_file():
            return None
        mend = f"remove {self._folder}, and ingest begins anew"
        table = table_files.read_parquet(notes, mend=mend)
        try:
            told = json_files.parsed((table.schema.metadata or {}).get(b"radrl", b""))
            return Shard(self._shard(number), **told, notes=[_note(row) for row in table.to_pylist()])
        except (ValueError, KeyError, TypeError) as error:  # sound Parquet, and not what `write` wrote
            raise table_files.NoTable(f"{notes} is damaged ({error}); {mend}") from error

    def write(self, number: int, rows: pa.Table, notes: Sequence[Note], *, studies: int, digest: str) -> Path:
        """Keep a shard and what became of the records that were read for it; the arguments are a `Shard`'s.

        Returns:
            The shard's file.
        """
        _whole(self._shard(number), partial(corpus.write, rows))
        told = json.dumps({"rows": rows.num_rows, "studies": studies, "digest": digest})
        table = pa.Table.from_pylist([_row(note) for note in notes], schema=_NOTES)
        noted = table.replace_schema_metadata({b"radrl": told.encode()})
        _whole(self._notes(number), partial(pq.write_table, noted, compression="zstd"))
        return self._shard(number)

    def _shard(self, number: int) -> Path:
        return self._folder / f"part-{number:05d}.arrow"

    def _notes(self, number: int) -> Path:
        return self._folder / f"part-{number:05d}.notes.parquet"


def _whole(path: Path, write: Callable[[Path], None]) -> None:
    unfinished = path.with_suffix(".partial")
    write(unfinished)
    unfinished.rename(path)


def _row(note: Note) -> dict[str, Any]:
    return {"kept": isinstance(note, Seen), **asdict(note)}


def _note(row: dict[str, Any]) -> Note:
    kind: type[Seen] | type[Refusal] = Seen if row.pop("kept") else Refusal
    return kind(**{name: row[name] for name in kind.__slots__})


_log = logging.getLogger(__name__)


def shards(passing: Ingestion, *, rows: int, workspace: Path) -> Iterator[Path]:
    """Make the corpus as Arrow files with the columns of `radrl.data.admission.corpus_schema`.

    A resumed pass gives the same files as one that was never killed.

    Args:
        passing: a fresh pass.
        rows: of a shard at least; it ends with a study.
        workspace: where shards are written; the caller says that it belongs to this work. Removed after the
            last shard was taken; kept, with the list of all that was refused, when that is too much.

    Yields:
        The shards in order, each to be linked or copied before the next is asked for.

    Raises:
        As iterating the pass does.
    """
    journal = Journal(workspace)
    done, studies = _resume(passing, journal)
    yield from (shard.path for shard in done)
    prepared = passing.prepared(studies)
    number = len(done)
    while filled := _fill(passing, prepared, rows):
        table, notes, digests = filled
        yield journal.write(number, table, notes, studies=len(digests), digest=_joined(digests))
        number += 1
    try:
        passing.end()
    except TooManyQuarantined as error:
        listed = workspace / "quarantine.csv"
        pacsv.write_csv(error.quarantine.table(), listed)
        raise TooManyQuarantined(f"{error}\n{listed} lists them all.", error.quarantine) from None
    shutil.rmtree(workspace)


def _resume(passing: Ingestion, journal: Journal) -> tuple[list[Shard], Iterator[Study]]:
    """The finished shards that the source still stands behind, and the studies that are left to read."""
    studies = passing.begin()
    done: list[Shard] = []
    while (shard := journal.read(len(done))) is not None:
        again = list(islice(studies, shard.studies))
        if _joined(map(digest, again)) != shard.digest:
            _log.warning("the source changed since the run was killed; going on from shard %d", len(done))
            return done, chain(again, studies)
        passing.restore(shard.notes, shard.rows)
        done.append(shard)
    if done:
        _log.info("going on after %d finished shards, %d films read", len(done), passing.read)
    return done, studies


def _fill(
    passing: Ingestion, prepared: Iterator[PreparedStudy], rows: int
) -> tuple[pa.Table, list[Note], list[str]] | None:
    """Read studies until a shard is full: its rows, what is noted of the films, the studies' digests."""
    filled: list[CorpusRow] = []
    notes: list[Note] = []
    digests: list[str] = []
    schema = corpus_schema(passing.context)
    while len(filled) < rows and (study := next(prepared, None)):
        more, noted = passing.admit(study)
        filled += more
        notes += noted
        digests.append(study.digest)
    return (pa.Table.from_pylist(filled, schema=schema), notes, digests) if filled else None


def _joined(digests: Iterable[str]) -> str:
    return hashlib.sha256("".join(digests).encode()).hexdigest()
