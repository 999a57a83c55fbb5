"""DEER's diversity-driven sampling: films drawn by how much their rollouts differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from radrl.algorithms.ddsampling import StandardDeviation, draw_log_rank, label_diversity
from radrl.algorithms.f_measure import Labels
from radrl.parts.section import Section, takes

if TYPE_CHECKING:
    import pandas as pd


class DDSamplingSection(Section):
    """DEER's diversity-driven sampling."""

    share: Annotated[float, Field(gt=0, le=1)]
    std: StandardDeviation
    uncertain_as_positive: bool


def score(
    sample_ids: Sequence[str],
    rollout_labels: Labels,
    seed: int,
    *,
    share: float,
    std: StandardDeviation,
    uncertain_as_positive: bool,
) -> pd.DataFrame:
    """Diversity, rank and probability of films (DEER eq. 3-5), and which were drawn.

    Args:
        sample_ids: of N films.
        rollout_labels: class indices of their K rollouts, shape (N, K, 14).
        seed: of ties and of the draw.
        share: of the films that is drawn.
        std: of the population or the sample.
        uncertain_as_positive: the reading of hedged findings.

    Returns:
        sample_id, diversity, rank (1 the most diverse), probability, drawn (place in the draw, or missing).
    """
    import pandas as pd  # 0.5 s, which reading params.yaml does not need

    diversity = label_diversity(rollout_labels, std=std, uncertain_as_positive=uncertain_as_positive)
    draw = draw_log_rank(diversity, fraction=share, seed=seed)
    drawn = pd.Series(pd.NA, index=range(len(sample_ids)), dtype="Int64")
    drawn.iloc[draw.drawn] = np.arange(len(draw.drawn))
    return pd.DataFrame(
        {
            "sample_id": sample_ids,
            "diversity": diversity,
            "rank": draw.rank,
            "probability": draw.probability,
            "drawn": drawn,
        }
    )


def taken(diversity: pd.DataFrame) -> pd.Series:
    """The films that were drawn.

    Args:
        diversity: of `score`.

    Returns:
        Their sample_ids, in the order of the draw.
    """
    return diversity.dropna(subset="drawn").sort_values("drawn")["sample_id"]


@takes(DDSamplingSection)
def ddsampling(
    sample_ids: Sequence[str],
    rollout_labels: Labels,
    seed: int,
    *,
    share: float,
    std: StandardDeviation,
    uncertain_as_positive: bool,
) -> pd.Series:
    """DEER's diversity-driven sampling: films drawn by how much their rollouts differ.

    Args:
        sample_ids: as `score` takes them.
        rollout_labels: as `score` takes them; only the stage ddsampling has them.
        seed: as there.
        share: as there.
        std: as there.
        uncertain_as_positive: as there.

    Returns:
        sample_ids in the order of the draw.
    """
    own: dict[str, Any] = {"share": share, "std": std, "uncertain_as_positive": uncertain_as_positive}
    return taken(score(sample_ids, rollout_labels, seed, **own))
