"""A labeler that reads labels written out, and rewards that a test dictates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pytest

from radrl.observations import INDEX, NEGATIVE, POSITIVE, UNCERTAIN


class Dictated:
    """Reads labels written out: "+Edema ?Fracture -Pneumonia"."""

    name = "dictated"

    def label(self, reports: Sequence[str]) -> np.ndarray:
        labels = np.zeros((len(reports), 14), np.int8)
        for row, report in enumerate(reports):
            for word in report.split():
                labels[row, INDEX[word[1:]]] = {"+": POSITIVE, "-": NEGATIVE, "?": UNCERTAIN}[word[0]]
        return labels


class Given:
    """A reward whose scores are given, and which notes what it was shown."""

    name, clinical = "given", True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores, self.seen = scores, [[""]]

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        self.seen = [list(reports), list(references), list(sample_ids)]
        return self.scores


@pytest.fixture
def dictated() -> Dictated:
    return Dictated()


@pytest.fixture
def given() -> Callable[[Sequence[float]], Given]:
    return Given


@pytest.fixture
def worth() -> Callable[..., list[float]]:
    """What one reward gives reports, under made-up ids."""

    def score(reward: Any, *pairs: tuple[str, str]) -> list[float]:
        references, reports = zip(*pairs, strict=True)
        return list(reward(reports, references, [f"film{i}" for i in range(len(pairs))]))

    return score
