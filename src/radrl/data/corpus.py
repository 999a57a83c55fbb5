"""Reading the corpus: films and texts of a split, in the order ingest wrote them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as ds

TEXTS = (
    "sample_id", "study_id", "patient_id", "split", "views",
    "findings", "impression", "report", "label_text", "gold",
)  # fmt: skip
"""Every column but the pixels, which are most of the bytes."""


def read(corpus: ds.Dataset, *, split: str | None = None, columns: Sequence[str] = TEXTS) -> pd.DataFrame:
    """Read columns of the corpus into memory.

    Args:
        corpus: the shards.
        split: only this split; nothing for all.
        columns: which columns; ask for `images` only where films are needed.

    Returns:
        One row a sample: a film with its report, or a study with all its films.

    Raises:
        ValueError: when the split has no film, naming the splits there are.
    """
    found = corpus.to_table(columns=list(columns), filter=pc.field("split") == split if split else None)
    if found.num_rows == 0:
        there = corpus.to_table(columns=["split"]).column("split").unique().to_pylist()
        raise ValueError(
            f"the corpus has no film in split {split!r} (it has {', '.join(sorted(there)) or 'no film'}); "
            "give the split films in ingest.phantom.studies or ingest.split_shares"
        )
    frame: pd.DataFrame = found.to_pandas()
    for name in {"views", "images"} & {*columns}:  # tuples, unlike arrays, can be hashed
        frame[name] = list(map(tuple, frame[name]))
    return frame


def holds(corpus: ds.Dataset, split: str) -> bool:
    """Whether a split has any film."""
    return bool(corpus.head(1, columns=["split"], filter=pc.field("split") == split).num_rows)


def pictures(corpus: ds.Dataset, sample_ids: Sequence[str]) -> dict[str, list[bytes]]:
    """The films of a few samples.

    Args:
        corpus: the shards.
        sample_ids: which samples.

    Returns:
        Films as PNG by sample_id, in the given order.
    """
    rows = corpus.to_table(
        columns=["sample_id", "images"], filter=pc.field("sample_id").isin(list(sample_ids))
    )
    films = {row["sample_id"]: row["images"] for row in rows.to_pylist()}
    return {sample_id: films[sample_id] for sample_id in sample_ids}
