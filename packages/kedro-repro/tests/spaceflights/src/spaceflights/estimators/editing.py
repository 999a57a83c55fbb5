"""The mean, in a run during which somebody edits params.yaml once."""

from pathlib import Path

import pandas as pd

from spaceflights.estimators import mean

PARAMS = Path("params.yaml")


def fit(features: pd.DataFrame, price: pd.Series) -> list[float]:
    """The share of rows that are held out is another from now on."""
    PARAMS.write_text(PARAMS.read_text().replace("test_share: 0.25", "test_share: 0.5"))
    return mean.fit(features, price)
