"""The stage ingest: source to corpus and quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline

from radrl.data import corpus as corpora
from radrl.data.admission import CONTEXT
from radrl.data.ingest import Ingestion, ingest
from radrl.data.prompts import priors
from radrl.data.shards import shards
from radrl.data.sources import is_drawn, open_source
from radrl.storage.workspaces import claim, fingerprint

if TYPE_CHECKING:
    from radrl.labelers.indication_leaks import Leak

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
        away_root=source.away_root,
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


def report_quarantine(
    passing: Ingestion, corpus: ds.Dataset, settings: dict[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What was refused and why, once the corpus is written.

    Args:
        passing: the pass over the source, at its end.
        corpus: what was written.
        settings: the section `ingest`.

    Returns:
        The quarantine table; and where the films are from, with the counts: films in = kept + quarantined,
        and the same of studies; and `context_of` where `ingest.context` asks for any.
    """
    quarantine = passing.quarantine
    context = context_of(corpus, passing.context)
    print("\n".join([summarise(passing), *context.get("warnings", ())]))
    return quarantine.table().to_pandas(), {
        "source": settings["source"],
        **({"away": settings["away"]["source"]} if settings.get("away") else {}),
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
        **({"context": context} if context else {}),
    }


def context_of(corpus: ds.Dataset, names: Sequence[str]) -> dict[str, Any]:
    """What the corpus knows of its studies besides films and reports, and what of it foretells a report.

    Args:
        corpus: what was written.
        names: of `ingest.context`.

    Returns:
        `studies`, in how many of them each is known, `leaks` of the indications by finding
        (`radrl.labelers.indication_leaks`), and `warnings`, a sentence each; nothing where no name is given.
    """
    if not names:
        return {}
    columns = [CONTEXT[name].name for name in names]
    more = ["study_id", "patient_id", "split", "report", "label_text"]
    frame = corpora.read(corpus, columns=[*more, *columns])
    if "prior" in names:
        frame["prior"] = pd.concat([priors(own) for _, own in frame.groupby("split")])
    studies = frame.drop_duplicates("study_id")
    known = {name: int(studies[name].notna().sum()) for name in names}
    leaks = _leaks(studies) if "indication" in names else {}
    return {
        "studies": len(studies),
        **known,
        "leaks": leaks,
        "warnings": _warnings(known, leaks, len(studies)),
    }


def _leaks(studies: pd.DataFrame) -> dict[str, Leak]:
    from radrl.labelers.indication_leaks import STUDIES, count_leaks
    from radrl.labelers.rules.labeler import RulesLabeler

    told = studies.dropna(subset="indication")
    told = told.sample(min(STUDIES, len(told)), random_state=0)
    texts = (told[name].tolist() for name in ("indication", "label_text"))
    return count_leaks(*texts, RulesLabeler()) if len(told) else {}


def _warnings(known: Mapping[str, int], leaks: dict[str, Leak], studies: int) -> list[str]:
    from radrl.labelers.indication_leaks import warned_of

    absent = [
        f"warning: no study has what the place {{{name}}} of a prompt wants; the source has none, or "
        "params.yaml names no column of it"
        for name, count in known.items()
        if studies and not count and name != "boxes"  # which no prompt names
    ]
    shares = ", ".join(f"{name} {share:.0%}" for name, share in warned_of(leaks).items())
    foretold = (
        "warning: the indication states the finding in this share of the reports that are positive in it, so "
        f"that a policy asked with {{indication}} needs no film for it: {shares}"
    )
    return [*absent, *([foretold] if shares else [])]


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
                ["ingestion", "corpus", "params:ingest"],
                ["quarantine", "ingest_summary"],
                name="report_quarantine",
            ),
        ]
    )
