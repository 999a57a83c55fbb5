"""The mean, once another model is trained at the same time: it shows that stages run side by side."""

import os
import time
from pathlib import Path

import pandas as pd

from spaceflights.estimators import mean

PATIENCE = 120.0


def fit(features: pd.DataFrame, price: pd.Series) -> list[float]:
    """Wait for the other one.

    Raises:
        TimeoutError: when none comes.
    """
    folder = Path(os.environ["MEETING"])
    (folder / str(os.getpid())).touch()
    began = time.monotonic()
    while len(list(folder.iterdir())) < 2:
        if time.monotonic() - began > PATIENCE:
            raise TimeoutError("no other model is trained at the same time")
        time.sleep(0.05)
    return mean.fit(features, price)
