"""Least squares."""

import numpy as np
import pandas as pd


def fit(features: pd.DataFrame, price: pd.Series) -> list[float]:
    """A slope for each feature, then the offset."""
    rows = np.column_stack([features, np.ones(len(features))])
    return np.linalg.lstsq(rows, price, rcond=None)[0].tolist()
