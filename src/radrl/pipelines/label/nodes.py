"""Nodes of the stage label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.labelers.build import build
from radrl.observations import OBSERVATIONS


def label_reports(
    corpus: ds.Dataset, labeler_models: Path, settings: dict[str, Any], device: str = "cpu"
) -> pd.DataFrame:
    """Label every reference report, in the text that `ingest.labels_of` chose.

    Args:
        corpus: the films.
        labeler_models: what the stage labeler wrote.
        settings: the section `labeler`.
        device: where a CheXbert computes.

    Returns:
        sample_id, study_id, split and a class index for each observation, one row a film.
    """
    frame = corpora.read(corpus, columns=["sample_id", "study_id", "split", "label_text"])
    labels = build(settings, labeler_models, device=device).label(frame["label_text"].tolist())
    table = pd.DataFrame(labels, columns=list(OBSERVATIONS), index=frame.index)
    return pd.concat([frame[["sample_id", "study_id", "split"]], table], axis=1)
