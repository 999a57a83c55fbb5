"""Columns of the two tables ingest writes: the corpus and the quarantine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, TypedDict

import pyarrow as pa

CORPUS: Final = pa.schema(
    [
        pa.field("sample_id", pa.string(), nullable=False),  # unique
        pa.field("study_id", pa.string(), nullable=False),
        pa.field("patient_id", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),  # one of radrl.data.splits.SPLITS
        pa.field("views", pa.list_(pa.string()), nullable=False),  # of radrl.data.views.VIEWS, as images
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
"""One row a sample, a film or a study with all its kept films; the shards have exactly these columns."""

QUARANTINE: Final = pa.schema(
    [
        pa.field("source_key", pa.string(), nullable=False),
        pa.field("study_id", pa.string(), nullable=False),  # empty when the source names none
        pa.field("image", pa.string()),  # path as the source gives it
        pa.field("reason", pa.string(), nullable=False),  # one of radrl.data.quarantine.REASONS
        pa.field("detail", pa.string(), nullable=False),
    ]
)
"""One row a record that was refused."""


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
