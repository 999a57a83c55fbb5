"""The corpus written shard by shard, so that a killed pass goes on from its last finished shard."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from radrl.data.admission import Note
from radrl.data.ingest import Ingestion, PreparedStudy, Study, digest
from radrl.data.journal import Journal, Shard
from radrl.data.quarantine import TooManyQuarantined
from radrl.data.schema import CORPUS, CorpusRow

_log = logging.getLogger(__name__)


def shards(passing: Ingestion, *, rows: int, workspace: Path) -> Iterator[Path]:
    """Make the corpus as Arrow files with the columns of `radrl.data.schema.CORPUS`.

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
    while len(filled) < rows and (study := next(prepared, None)):
        more, noted = passing.admit(study)
        filled += more
        notes += noted
        digests.append(study.digest)
    return (pa.Table.from_pylist(filled, schema=CORPUS), notes, digests) if filled else None


def _joined(digests: Iterable[str]) -> str:
    return hashlib.sha256("".join(digests).encode()).hexdigest()
