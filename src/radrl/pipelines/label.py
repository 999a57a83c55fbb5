"""The stage label: reference reports to 14 labels a film."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
from kedro.pipeline import Pipeline, node, pipeline

from radrl.data import corpus as corpora
from radrl.labelers.parallel import ParallelLabeler
from radrl.observations import OBSERVATIONS


def label_reports(
    corpus: ds.Dataset,
    labeler_models: Path,
    settings: dict[str, Any],
    device: str = "cpu",
    threads: int | None = None,
    compute: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Label every reference report, in the text that `ingest.labels_of` chose.

    Args:
        corpus: the films.
        labeler_models: what the stage labeler wrote.
        settings: the section `labeler`.
        device: where a CheXbert computes.
        threads: of torch in each worker; nothing leaves them as they are.
        compute: the workers that read; nothing for this process.

    Returns:
        sample_id, study_id, split and a class index for each observation, one row a film.
    """
    frame = corpora.read(corpus, columns=["sample_id", "study_id", "split"])
    reader = ParallelLabeler(settings, labeler_models, device=device, threads=threads, compute=compute)
    labels = np.concatenate(list(reader.of_rows(corpus, "label_text")))
    return pd.concat([frame, pd.DataFrame(labels, columns=list(OBSERVATIONS), index=frame.index)], axis=1)


def create_pipeline() -> Pipeline:
    """Corpus -> labels of the reference reports."""
    inputs = ["corpus", "labeler_models", "params:labeler", "params:device", "params:threads", "compute"]
    return pipeline([node(label_reports, inputs, "labels", name="label_reports")])
