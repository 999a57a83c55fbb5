"""Nodes of the stage ingest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from tqdm import tqdm

from radrl.data.ingest import Ingestion, ingest
from radrl.data.sources.registry import open_source


def read_source(settings: dict[str, Any], seed: int) -> tuple[Iterator[pa.Table], Ingestion]:
    """Stream the source into corpus shards.

    Args:
        settings: the section `ingest`.
        seed: of drawn sources and of the split.

    Returns:
        The shards, not yet computed, and the pass that computes them and knows what was refused.
    """
    records, root = open_source(settings, seed=seed)
    passing = ingest(
        tqdm(records, desc=f"ingest {settings['source']}", unit=" films", mininterval=1),
        seed=seed,
        target=settings["target"],
        image_size=settings["image_size"],
        image_fit=settings["image_fit"],
        split_shares=settings["split_shares"],
        max_quarantined_share=settings["max_quarantined_share"],
        min_report_words=settings["min_report_words"],
        image_root=root,
    )
    return passing.tables(rows=settings["films_per_shard"]), passing


def report_quarantine(passing: Ingestion) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What was refused and why, once the corpus is written.

    Args:
        passing: the pass over the source, at its end.

    Returns:
        The quarantine table, and the counts: input = kept + quarantined.
    """
    quarantine = passing.quarantine
    reasons = {str(reason): count for reason, count in sorted(quarantine.counts().items())}
    return quarantine.table().to_pandas(), {
        "input": passing.read,
        "kept": passing.kept,
        "quarantined": len(quarantine),
        "reasons": reasons,
    }
