"""A plain random subset, DDSampling's control."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from radrl.parts.section import Section, takes

if TYPE_CHECKING:
    import pandas as pd


class RandomSection(Section):
    """A plain random subset, DDSampling's control."""

    share: Annotated[float, Field(gt=0, le=1)]


@takes(RandomSection)
def random(films: pd.DataFrame, seed: int, *, share: float) -> pd.Series:
    """A plain random subset, DDSampling's control.

    Args:
        films: of `radrl.pipelines.selection.subsets.training_films`.
        seed: of the draw.
        share: of the films.

    Returns:
        sample_ids in the order of the films, at least one.
    """
    count = max(1, round(share * len(films)))
    drawn = np.sort(np.random.default_rng(seed).choice(len(films), size=count, replace=False))
    return films["sample_id"].iloc[drawn]
