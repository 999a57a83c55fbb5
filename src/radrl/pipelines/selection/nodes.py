"""Nodes of the stage selection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

from radrl.algorithms.balanced import balanced_subset
from radrl.algorithms.diversity import label_diversity
from radrl.algorithms.log_rank import draw_log_rank
from radrl.data import corpus as corpora
from radrl.labelers.build import build
from radrl.observations import OBSERVATIONS, POSITIVE


def score_diversity(
    rollouts: ds.Dataset,
    labeler_models: Path,
    labeler: dict[str, Any],
    settings: dict[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Diversity, rank and probability of every training film (DEER eq. 3-5), and which films were drawn.

    Reads rollouts alone, never a reference report.

    Args:
        rollouts: sample_id, sample, report.
        labeler_models: what the stage labeler wrote.
        labeler: the section `labeler`.
        settings: the section `selection.ddsampling`.
        seed: of ties and of the draw.

    Returns:
        sample_id, diversity, rank (1 the most diverse), probability, drawn (place in the draw, or missing).
    """
    frame = rollouts.to_table().to_pandas()
    samples = frame.groupby("sample_id", sort=False).size()
    if samples.nunique() != 1:
        raise ValueError(
            f"films have {samples.min()} to {samples.max()} rollouts; run the stage rollouts again"
        )
    labels = build(labeler, labeler_models).label(frame["report"].tolist())
    diversity = label_diversity(
        labels.reshape(len(samples), -1, len(OBSERVATIONS)),
        std=settings["std"],
        uncertain_as_positive=settings["uncertain_as_positive"],
    )
    draw = draw_log_rank(diversity, fraction=settings["share"], seed=seed)
    drawn = pd.Series(pd.NA, index=range(len(samples)), dtype="Int64")
    drawn.iloc[draw.drawn] = np.arange(len(draw.drawn))
    return pd.DataFrame(
        {
            "sample_id": samples.index,
            "diversity": diversity,
            "rank": draw.rank,
            "probability": draw.probability,
            "drawn": drawn,
        }
    )


def make_subsets(
    corpus: ds.Dataset, labels: pd.DataFrame, diversity: pd.DataFrame, settings: dict[str, Any], seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """The subsets of training samples an arm can name, shown label by label on the terminal.

    Args:
        corpus: the samples, for their studies and which sections they have.
        labels: of the reference reports; only `balanced` reads them.
        diversity: from `score_diversity`.
        settings: the section `selection`.
        seed: of the draws.

    Returns:
        `full`, `random`, `ddsampling` and `balanced`, each a column sample_id. Last, of the complete studies
        and of each subset its samples, studies and positive studies by label, and of `balanced` how even it
        is and could be (`radrl.algorithms.balanced.BalancedSubset`).

    Raises:
        ValueError: when fewer studies are complete than `selection.balanced.studies` asks for.
    """
    from radrl.pipelines.selection import table

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
        "ddsampling": diversity.dropna(subset="drawn").sort_values("drawn")["sample_id"],
        "balanced": ids[known["study_id"].isin(studies)],
    }
    pools = {"complete": ids[known["complete"]], **subsets}
    summary = {name: _counts(known, chosen) for name, chosen in pools.items()} | {"balance": balance}
    table.show(summary)
    full, random, ddsampling, balanced = (
        chosen.to_frame().reset_index(drop=True) for chosen in subsets.values()
    )
    return full, random, ddsampling, balanced, summary


def _balance(known: pd.DataFrame, wanted: int, seed: int) -> tuple[pd.Series, dict[str, int | bool]]:
    """The balanced studies, and how even they are; samples of a study share its report, and so its labels."""
    studies = known.drop_duplicates("study_id")
    complete = studies["complete"].to_numpy()
    if wanted > complete.sum():
        raise ValueError(
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


def _counts(known: pd.DataFrame, chosen: pd.Series) -> dict[str, int]:
    """Samples and studies of a subset, and its positive studies by label."""
    samples = known[known["sample_id"].isin(chosen)]
    studies = samples.drop_duplicates("study_id")
    positive = {name: int((studies[name] == POSITIVE).sum()) for name in OBSERVATIONS}
    return {"samples": len(samples), "studies": len(studies)} | positive
