"""METEOR of added counts."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.evaluation.meteor import COUNTS, addable, meteor_of_counts


def counts(**places: float) -> np.ndarray:
    """One pair's counts by place."""
    row = np.zeros((1, COUNTS))
    for place, value in places.items():
        row[0, int(place.removeprefix("at"))] = value
    return row


def test_by_hand() -> None:
    """Generated 3 words, 1 of them a function word; true 4 words, 2; two match exactly in two chunks."""
    pair = counts(at0=3, at1=4, at2=1, at3=2, at4=1, at5=1, at6=1, at7=1, at20=2)
    precision, recall = 1.0 / (0.75 * 2 + 0.25), 1.0 / (0.75 * 2 + 0.5)
    fmean = precision * recall / (0.85 * precision + 0.15 * recall)
    assert meteor_of_counts(addable(pair)) == pytest.approx([fmean * (1 - 0.6)])  # 2 chunks of 2 matches


def test_a_report_that_is_its_reference_has_no_penalty_and_one_without_a_match_has_0() -> None:
    whole = counts(at0=3, at1=3, at4=3, at5=3, at20=1)
    assert meteor_of_counts(addable(whole)) == pytest.approx([1.0])
    assert meteor_of_counts(addable(counts(at0=3, at1=3))) == [0.0]
