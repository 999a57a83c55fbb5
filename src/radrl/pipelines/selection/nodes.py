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
        rollouts: film_id, sample, report.
        labeler_models: what the stage labeler wrote.
        labeler: the section `labeler`.
        settings: the section `selection.ddsampling`.
        seed: of ties and of the draw.

    Returns:
        film_id, diversity, rank (1 the most diverse), probability, drawn (position in the draw, or missing).
    """
    frame = rollouts.to_table().to_pandas()
    samples = frame.groupby("film_id", sort=False).size()
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
            "film_id": samples.index,
            "diversity": diversity,
            "rank": draw.rank,
            "probability": draw.probability,
            "drawn": drawn,
        }
    )


def make_subsets(
    corpus: ds.Dataset, labels: pd.DataFrame, diversity: pd.DataFrame, settings: dict[str, Any], seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """The subsets of training films an arm can name.

    Args:
        corpus: the films, for which sections they have.
        labels: of the reference reports; only `balanced` reads them.
        diversity: from `score_diversity`.
        settings: the section `selection`.
        seed: of the draws.

    Returns:
        `full`, `random`, `ddsampling` and `balanced`, each a column film_id, and their positives by label.
    """
    films = corpora.read(corpus, split="train", columns=["film_id", "findings", "impression"])
    known = films[["film_id"]].merge(labels, on="film_id", validate="one_to_one")
    classes = known[list(OBSERVATIONS)].to_numpy()
    # a source without sections has none to miss
    sections = films[["findings", "impression"]].dropna(axis=1, how="all")
    complete = sections.notna().all(axis=1).to_numpy()
    count = max(1, round(settings["random"]["share"] * len(films)))
    rng = np.random.default_rng(seed)
    ids = films["film_id"]
    subsets = {
        "full": ids,
        "random": ids.iloc[np.sort(rng.choice(len(films), size=count, replace=False))],
        "ddsampling": diversity.dropna(subset="drawn").sort_values("drawn")["film_id"],
        "balanced": ids.iloc[balanced_subset(classes, complete, settings["balanced"]["studies"], seed=seed)],
    }
    summary = {name: _positives(known, chosen) for name, chosen in subsets.items()}
    full, random, ddsampling, balanced = (
        chosen.to_frame().reset_index(drop=True) for chosen in subsets.values()
    )
    return full, random, ddsampling, balanced, summary


def _positives(known: pd.DataFrame, chosen: pd.Series) -> dict[str, int]:
    rows = known[known["film_id"].isin(chosen)]
    return {"films": len(rows)} | {name: int((rows[name] == POSITIVE).sum()) for name in OBSERVATIONS}
