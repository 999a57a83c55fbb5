"""The training films as selections see them."""

from __future__ import annotations

from typing import Final

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.observations import OBSERVATIONS

COLUMNS: Final = ("sample_id", "study_id", "patient_id", "findings", "impression", "report")


def training_films(corpus: ds.Dataset, labels: pd.DataFrame) -> pd.DataFrame:
    """What is known of the training films without a look at them.

    Args:
        corpus: the films.
        labels: of the reference reports.

    Returns:
        `COLUMNS`, and a column of class indices for each observation.
    """
    samples = corpora.read(corpus, split="train", columns=list(COLUMNS))
    return samples.merge(labels[["sample_id", *OBSERVATIONS]], on="sample_id", validate="one_to_one")
