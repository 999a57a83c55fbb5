"""What a killed ingest had finished: shards of the corpus, and beside each what the run knew by then.

A shard counts as finished when its journal is there, which is written after it. Both are written under other
names and renamed. The journal holds the digest of the source's records up to there, so a run goes on only
where the source still says the same; that a film's file was changed in between is not noticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from radrl.data import corpus
from radrl.data.admission import Note, Seen
from radrl.data.quarantine import Refusal
from radrl.storage import json_files, parquet_files

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
        table = parquet_files.table(notes, mend=mend)
        try:
            told = json_files.parsed((table.schema.metadata or {}).get(b"radrl", b""))
            return Shard(self._shard(number), **told, notes=[_note(row) for row in table.to_pylist()])
        except (ValueError, KeyError, TypeError) as error:  # sound Parquet, and not what `write` wrote
            raise parquet_files.NoParquet(f"{notes} is damaged ({error}); {mend}") from error

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
