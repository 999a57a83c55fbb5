"""Nodes of the stage selection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

from radrl.algorithms.balanced import balanced_subset
from radrl.data import corpus as corpora
from radrl.observations import OBSERVATIONS
from radrl.pipelines.selection import counts
from radrl.training.preflight import SettingsError


def make_subsets(
    corpus: ds.Dataset, labels: pd.DataFrame, settings: dict[str, Any], seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """The subsets of training samples that need no policy, shown label by label on the terminal.

    Args:
        corpus: the samples, for their studies and which sections they have.
        labels: of the reference reports; only `balanced` reads them.
        settings: the section `selection`.
        seed: of the draws.

    Returns:
        `full`, `random` and `balanced`, each a column sample_id. Last, of the complete studies and of each
        subset its samples, studies and positive studies by label, and of `balanced` how even it is and could
        be (`radrl.algorithms.balanced.BalancedSubset`).

    Raises:
        SettingsError: when fewer studies are complete than `selection.balanced.studies` asks for.
    """
    columns = ["sample_id", "study_id", "findings", "impression"]
    samples = corpora.read(corpus, split="train", columns=columns)
    # a source without sections has none to miss
    sections = samples[["findings", "impression"]].dropna(axis=1, how="all")
    known = samples[["sample_id", "study_id"]].assign(complete=sections.notna().all(axis=1))
    known = known.merge(labels[["sample_id", *OBSERVATIONS]], on="sample_id", validate="one_to_one")
    studies, balance = _balance(known, settings["balanced"]["studies"], seed)
    count = max(1, round(settings["random"]["share"] * len(samples)))
    drawn = np.sort(np.random.default_rng(seed).choice(len(samples), size=count, replace=False))
    ids = known["sample_id"]
    subsets = {
        "full": ids,
        "random": ids.iloc[drawn],
        "balanced": ids[known["study_id"].isin(studies)],
    }
    pools = {"complete": ids[known["complete"]], **subsets}
    summary = {name: counts.of(known, chosen) for name, chosen in pools.items()}
    counts.show(summary)
    counts.show_balance(balance)
    full, random, balanced = (chosen.to_frame().reset_index(drop=True) for chosen in subsets.values())
    return full, random, balanced, summary | {"balance": balance}


def _balance(known: pd.DataFrame, wanted: int, seed: int) -> tuple[pd.Series, dict[str, int | bool]]:
    """The balanced studies, and how even they are; samples of a study share its report, and so its labels."""
    studies = known.drop_duplicates("study_id")
    complete = studies["complete"].to_numpy()
    if wanted > complete.sum():
        raise SettingsError(
            f"selection.balanced.studies is {wanted}, but only {complete.sum()} of {len(studies)} training "
            f"studies are complete (have findings and impression); give at most {complete.sum()}"
        )
    found = balanced_subset(studies[list(OBSERVATIONS)].to_numpy(), complete, wanted, seed=seed)
    return studies["study_id"].iloc[found.chosen], {
        "goal": found.goal,
        "level": found.level,
        "level_bound": found.level_bound,
        "peak": found.peak,
        "peak_bound": found.peak_bound,
        "positives": found.total,
        "positives_bound": found.total_bound,
        "proven": found.proven,
    }
