"""The stage ingest: source to corpus and quarantine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd
from kedro.pipeline import Pipeline, node, pipeline

from radrl.data.ingest import Ingestion, ingest
from radrl.data.shards import shards
from radrl.data.sources import is_drawn, open_source
from radrl.storage.workspaces import claim, fingerprint

_NO_MATTER: Final = ("workers", "max_quarantined_share")
"""Keys that change no byte of a shard: a run that was stopped goes on when they are changed."""


def read_source(settings: dict[str, Any], seed: int, workspace: Path) -> tuple[Iterator[Path], Ingestion]:
    """Stream the source into corpus shards; a killed run goes on from its last finished one.

    Args:
        settings: the section `ingest`.
        seed: of drawn sources and of the split, where the section has none of its own.
        workspace: finished shards.

    Returns:
        The shards, not yet made, and the pass that makes them and knows what was refused.
    """
    own = {key: value for key, value in settings.items() if key not in _NO_MATTER}
    seed = seed if settings.get("seed") is None else settings["seed"]
    claim(workspace, fingerprint({"settings": own, "seed": seed}))
    source = open_source(settings, seed=seed)
    passing = ingest(
        source,
        seed=seed,
        sample=settings["sample"],
        split_shares=settings["split_shares"],
        patients_in_two_splits=settings["patients_in_two_splits"],
        max_quarantined_share=settings["max_quarantined_share"],
        workers=settings["workers"],
        title=f"ingest {settings['source']}",
        context=settings.get("context", ()),
        image_root=source.root,
        target=settings["target"],
        cleaning=settings["cleaning"],
        labels_of=settings["labels_of"],
        min_report_words=settings["min_report_words"],
        max_report_words=settings["max_report_words"],
        views=settings["views"],
        image_size=settings["image_size"],
        image_fit=settings["image_fit"],
    )
    return shards(passing, rows=settings["films_per_shard"], workspace=workspace), passing


def report_quarantine(passing: Ingestion, settings: dict[str, Any]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What was refused and why, once the corpus is written.

    Args:
        passing: the pass over the source, at its end.
        settings: the section `ingest`.

    Returns:
        The quarantine table; and where the films are from, with the counts: films in = kept + quarantined,
        and the same of studies.
    """
    quarantine = passing.quarantine
    print(summarise(passing))
    return quarantine.table().to_pandas(), {
        "source": settings["source"],
        "drawn": is_drawn(settings),
        "input": passing.read,
        "kept": passing.kept,
        "quarantined": len(quarantine),
        "samples": passing.samples,
        "splits": passing.splits,
        "studies_kept": passing.studies_kept,
        "studies_quarantined": passing.studies_quarantined,
        "patients_in_two_splits": passing.patients_in_two_splits,
        "reasons": {str(reason): count for reason, count in sorted(quarantine.counts().items())},
    }


def summarise(passing: Ingestion) -> str:
    """What came of a source, for whoever watches: kept, by split, and refused, by reason.

    Args:
        passing: the pass over the source, at its end.
    """
    splits = ", ".join(f"{split} {films:,}" for split, films in passing.splits.items())
    lines = [f"kept {passing.kept:,} of {passing.read:,} films ({passing.studies_kept:,} studies): {splits}"]
    if len(passing.quarantine):
        lines.append(f"refused {len(passing.quarantine):,} films (each in 02_intermediate/quarantine.csv):")
        lines.append(passing.quarantine.summary(examples=1))
    if passing.patients_in_two_splits:
        lines.append(
            f"warning: {passing.patients_in_two_splits:,} patients stand in two splits, as the source has it"
        )
    return "\n".join(lines)


def create_pipeline() -> Pipeline:
    """Source -> corpus, quarantine, summary."""
    return pipeline(
        [
            node(
                read_source,
                ["params:ingest", "params:seed", "ingest_workspace"],
                ["corpus", "ingestion"],
                name="read_source",
            ),
            node(
                report_quarantine,
                ["ingestion", "params:ingest"],
                ["quarantine", "ingest_summary"],
                name="report_quarantine",
            ),
        ]
    )
