"""Nodes of the stage ddsampling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.labelers.build import build
from radrl.observations import OBSERVATIONS
from radrl.pipelines.selection import counts
from radrl.selections.ddsampling import score, taken


def score_diversity(
    rollouts: ds.Dataset,
    labeler_models: Path,
    labeler: dict[str, Any],
    settings: dict[str, Any],
    seed: int,
    device: str = "cpu",
) -> pd.DataFrame:
    """Diversity, rank and probability of every training film (DEER eq. 3-5), and which films were drawn.

    Reads rollouts alone, never a reference report.

    Args:
        rollouts: sample_id, rollout, report.
        labeler_models: what the stage labeler wrote.
        labeler: the section `labeler`.
        settings: the section `selection.ddsampling`.
        seed: of ties and of the draw.
        device: where a CheXbert computes.

    Returns:
        sample_id, diversity, rank (1 the most diverse), probability, drawn (place in the draw, or missing).
    """
    frame = rollouts.to_table().to_pandas()
    samples = frame.groupby("sample_id", sort=False).size()
    if samples.nunique() != 1:
        raise ValueError(
            f"films have {samples.min()} to {samples.max()} rollouts; run the stage rollouts again"
        )
    labels = build(labeler, labeler_models, device=device).label(frame["report"].tolist())
    by_film = labels.reshape(len(samples), -1, len(OBSERVATIONS))
    return score(samples.index, by_film, seed, **settings)


def take_drawn(
    diversity: pd.DataFrame, corpus: ds.Dataset, labels: pd.DataFrame
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The subset that DDSampling drew, shown label by label beside all films.

    Args:
        diversity: of `score_diversity`.
        corpus: the samples, for their studies.
        labels: of the reference reports; they are counted and decide nothing.

    Returns:
        A column sample_id, in the order of the draw; samples, studies and positive studies by label.
    """
    samples = corpora.read(corpus, split="train", columns=["sample_id", "study_id"])
    known = samples.merge(labels[["sample_id", *OBSERVATIONS]], on="sample_id", validate="one_to_one")
    drawn = taken(diversity)
    summary = {"full": counts.of(known, known["sample_id"]), "ddsampling": counts.of(known, drawn)}
    counts.show(summary)
    return drawn.to_frame().reset_index(drop=True), summary
