"""The mean price, whatever the features."""

import pandas as pd


def fit(features: pd.DataFrame, price: pd.Series) -> list[float]:
    """No feature counts."""
    return [0.0] * features.shape[1] + [float(price.mean())]
