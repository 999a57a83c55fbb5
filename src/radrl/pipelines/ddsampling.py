"""The stage ddsampling: diversity of rollouts, the subset drawn by it (DEER), and the most diverse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline

from radrl.algorithms.f_measure import Labels
from radrl.data import corpus as corpora
from radrl.labelers.parallel import ParallelLabeler
from radrl.observations import OBSERVATIONS
from radrl.pipelines import subsets
from radrl.selections.ddsampling import score, taken
from radrl.selections.most_diverse import most_diverse

Read = tuple[list[str], Labels]
"""N sample_ids, and the labels of each film's K rollouts, shape (N, K, 14)."""


def label_rollouts(
    rollouts: ds.Dataset,
    labeler_models: Path,
    labeler: dict[str, Any],
    device: str = "cpu",
    threads: int | None = None,
    compute: Mapping[str, Any] | None = None,
) -> Read:
    """Read the labels of every training film's rollouts; of the texts each worker holds one shard's.

    Args:
        rollouts: sample_id, rollout, report.
        labeler_models: what the stage labeler wrote.
        labeler: the section `labeler`.
        device: where a CheXbert computes.
        threads: of torch in each worker; nothing leaves them as they are.
        compute: the workers that read; nothing for this process.

    Returns:
        The films and their labels.
    """
    films = _films(rollouts)
    reader = ParallelLabeler(labeler, labeler_models, device=device, threads=threads, compute=compute)
    labels = np.empty((rollouts.count_rows(), len(OBSERVATIONS)), dtype=np.int8)
    at = 0
    for part in reader.of_rows(rollouts, "report"):
        labels[at : at + len(part)] = part
        at += len(part)
    return films, labels.reshape(len(films), -1, len(OBSERVATIONS))


def _films(rollouts: ds.Dataset) -> list[str]:
    """The films in order, each of which must have as many rollouts."""
    samples: Counter[str] = Counter()
    for part in rollouts.to_batches(columns=["sample_id"]):
        samples.update(part.column("sample_id").to_pylist())
    if len(counts := set(samples.values())) != 1:
        raise ValueError(
            f"films have {min(counts, default=0)} to {max(counts, default=0)} rollouts; "
            "run the stage rollouts again"
        )
    return list(samples)


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
    summary = {name: subsets.count(known, ids) for name, ids in chosen.items()}
    subsets.show_counts(summary)
    return drawn.to_frame().reset_index(drop=True), summary


def create_pipeline() -> Pipeline:
    """Rollouts -> diversity -> subset that is drawn by it, subset that is not."""
    return pipeline(
        [
            node(
                label_rollouts,
                {
                    "rollouts": "rollouts",
                    "labeler_models": "labeler_models",
                    "labeler": "params:labeler",
                    "device": "params:device",
                    "threads": "params:threads",
                    "compute": "compute",
                },
                "rollout_labels",
                name="label_rollouts",
            ),
            node(
                score_diversity,
                ["rollout_labels", "params:selection.ddsampling", "params:seed"],
                "diversity",
                name="score_diversity",
            ),
            node(
                take_most_diverse,
                ["rollout_labels", "params:selection.most_diverse", "params:seed"],
                "subset_most_diverse",
                name="take_most_diverse",
            ),
            node(
                take_drawn,
                ["diversity", "subset_most_diverse", "corpus", "labels"],
                ["subset_ddsampling", "ddsampling_summary"],
                name="take_drawn",
            ),
        ]
    )
