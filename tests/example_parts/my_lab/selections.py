"""A selection."""

from __future__ import annotations

import numpy as np
import pandas as pd


def one_a_patient(films: pd.DataFrame, rng: np.random.Generator, *, patients: int | None = None) -> list[str]:
    """One film of each patient, drawn at random, of at most so many patients."""
    shuffled = films.iloc[rng.permutation(len(films))].drop_duplicates("patient_id")
    return shuffled["sample_id"].head(patients or len(films)).tolist()
