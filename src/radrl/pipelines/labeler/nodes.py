"""Nodes of the stage labeler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.dataset as ds

from radrl.data import corpus as corpora
from radrl.labelers.build import build
from radrl.observations import OBSERVATIONS


def check_labeler(corpus: ds.Dataset, settings: dict[str, Any]) -> dict[str, Any]:
    """Hold the labeler against labels known apart from the texts (a phantom's facts, human indexing).

    Args:
        corpus: the films.
        settings: the section `labeler`.

    Returns:
        The labeler's name, how many reports have known labels, and per observation the share of them in
        which the labeler's class is the known one; no shares where the source knows none.
    """
    frame = corpora.read(corpus, columns=["report", "gold"])
    known = frame[frame["gold"].notna()]
    summary: dict[str, Any] = {"labeler": settings["name"], "reports": len(frame), "known": len(known)}
    if len(known):
        labels = build(settings["name"]).label(known["report"].tolist())
        same = labels == np.stack(known["gold"].to_list())  # (N, 14)
        summary["agreement"] = {
            name: float(share) for name, share in zip(OBSERVATIONS, same.mean(0), strict=True)
        }
    return summary
