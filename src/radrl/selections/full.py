"""Every training film."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def full(films: pd.DataFrame) -> pd.Series:
    """Every training film.

    Args:
        films: of `radrl.pipelines.selection.subsets.training_films`.

    Returns:
        Their sample_ids.
    """
    return films["sample_id"]
