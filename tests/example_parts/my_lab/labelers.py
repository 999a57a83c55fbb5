"""A labeler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from radrl.observations import INDEX, NO_FINDING, OBSERVATIONS, POSITIVE


def keywords(reports: Sequence[str], *, words: dict[str, list[str]]) -> np.ndarray:
    """An observation is positive where a report has one of its words, denied or not; else No Finding is."""
    labels = np.zeros((len(reports), len(OBSERVATIONS)), np.int8)
    for row, report in enumerate(reports):
        for name, said in words.items():
            if any(word in report.lower() for word in said):
                labels[row, INDEX[name]] = POSITIVE
        if report.strip() and not labels[row].any():
            labels[row, NO_FINDING] = POSITIVE
    return labels
