"""Nodes of the stage ddsampling."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

from radrl.algorithms.f_measure import Labels
from radrl.data import corpus as corpora
from radrl.labelers.build import build
from radrl.observations import OBSERVATIONS
from radrl.pipelines.selection import counts
from radrl.selections.ddsampling import score, taken
from radrl.selections.most_diverse import most_diverse

_AT_ONCE: Final = 10_000
"""Rollouts that are labelled together."""

Read = tuple[list[str], Labels]
"""N sample_ids, and the labels of each film's K rollouts, shape (N, K, 14)."""


def label_rollouts(
    rollouts: ds.Dataset, labeler_models: Path, labeler: dict[str, Any], device: str = "cpu"
) -> Read:
    """Read the labels of every training film's rollouts; of the texts no more than a batch is held.

    Args:
        rollouts: sample_id, rollout, report.
        labeler_models: what the stage labeler wrote.
        labeler: the section `labeler`.
        device: where a CheXbert computes.

    Returns:
        The films and their labels.
    """
    reader = build(labeler, labeler_models, device=device)
    samples: Counter[str] = Counter()
    labels = []
    for part in rollouts.to_batches(columns=["sample_id", "report"], batch_size=_AT_ONCE):
        samples.update(part.column("sample_id").to_pylist())
        labels.append(reader.label(part.column("report").to_pylist()))
    if len(counts := set(samples.values())) != 1:
        raise ValueError(
            f"films have {min(counts, default=0)} to {max(counts, default=0)} rollouts; "
            "run the stage rollouts again"
        )
    return list(samples), np.concatenate(labels).reshape(len(samples), -1, len(OBSERVATIONS))


def score_diversity(read: Read, settings: dict[str, Any], seed: int) -> pd.DataFrame:
    """Diversity, rank and probability of every training film (DEER eq. 3-5), and which films were drawn.

    Reads rollouts alone, never a reference report.

    Args:
        read: of `label_rollouts`.
        settings: the section `selection.ddsampling`.
        seed: of ties and of the draw.

    Returns:
        sample_id, diversity, rank (1 the most diverse), probability, drawn (place in the draw, or missing).
    """
    return score(*read, seed, **settings)


def take_most_diverse(read: Read, settings: dict[str, Any], seed: int) -> pd.DataFrame:
    """The films whose rollouts differ most, without a draw.

    Args:
        read: of `label_rollouts`.
        settings: the section `selection.most_diverse`.
        seed: of ties.

    Returns:
        A column sample_id, the most diverse first.
    """
    return most_diverse(*read, seed, **settings).to_frame().reset_index(drop=True)


def take_drawn(
    diversity: pd.DataFrame, top: pd.DataFrame, corpus: ds.Dataset, labels: pd.DataFrame
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The subset that DDSampling drew, shown label by label beside all films and the most diverse.

    Args:
        diversity: of `score_diversity`.
        top: of `take_most_diverse`.
        corpus: the samples, for their studies.
        labels: of the reference reports; they are counted and decide nothing.

    Returns:
        A column sample_id, in the order of the draw; samples, studies and positive studies by label.
    """
    samples = corpora.read(corpus, split="train", columns=["sample_id", "study_id"])
    known = samples.merge(labels[["sample_id", *OBSERVATIONS]], on="sample_id", validate="one_to_one")
    drawn = taken(diversity)
    chosen = {"full": known["sample_id"], "ddsampling": drawn, "most_diverse": top["sample_id"]}
    summary = {name: counts.of(known, ids) for name, ids in chosen.items()}
    counts.show(summary)
    return drawn.to_frame().reset_index(drop=True), summary
