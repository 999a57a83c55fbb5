"""The films whose rollouts differ most: DDSampling's score and ties (DEER, eq. 3 and 4) without its draw.

Departure from DEER, whose eq. 5 draws films by rank with probabilities in proportion to 1 / log(r + 1). They
are nearly flat: the top fifth of MIMIC-CXR's 270,790 films has 23 % of them, not much over a fifth
(`radrl.algorithms.ddsampling.mass_of_top`), so what table 7 says of diverse films cannot come from that draw.
Both selections are there to be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from radrl.algorithms.ddsampling import StandardDeviation, label_diversity, take_top
from radrl.algorithms.f_measure import Labels
from radrl.parts.section import takes
from radrl.selections.ddsampling import DDSamplingSection

if TYPE_CHECKING:
    import pandas as pd


class MostDiverseSection(DDSamplingSection):
    """The films whose rollouts differ most, without DDSampling's draw."""


@takes(MostDiverseSection)
def most_diverse(
    sample_ids: Sequence[str],
    rollout_labels: Labels,
    seed: int,
    *,
    share: float,
    std: StandardDeviation,
    uncertain_as_positive: bool,
) -> pd.Series:
    """The films whose rollouts differ most, without DDSampling's draw.

    Args:
        sample_ids: of N films.
        rollout_labels: class indices of their K rollouts, shape (N, K, 14); only the
            stage ddsampling has them.
        seed: of ties, which fall as DDSampling's do.
        share: of the films that is taken.
        std: of the population or the sample.
        uncertain_as_positive: the reading of hedged findings.

    Returns:
        sample_ids, the most diverse first.
    """
    import pandas as pd  # 0.5 s, which reading params.yaml does not need

    diversity = label_diversity(rollout_labels, std=std, uncertain_as_positive=uncertain_as_positive)
    chosen = take_top(diversity, fraction=share, seed=seed)
    return pd.Series(sample_ids, name="sample_id").iloc[chosen]
