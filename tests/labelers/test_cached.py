"""Labels that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from radrl.labelers import LabelMatrix
from radrl.labelers.cached import CachedLabeler


class Lengths:
    """Its first label is the text's length; it notes what it was asked."""

    name = "lengths"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        self.asked += reports
        labels = np.zeros((len(reports), 14), dtype=np.int8)
        labels[:, 0] = [len(text) for text in reports]
        return labels


@given(st.lists(st.lists(st.text("ab", max_size=4), max_size=8), max_size=4))
def test_the_same_labels_from_one_reading_a_text(calls: list[list[str]]) -> None:
    labeler = Lengths()
    remembering = CachedLabeler(labeler)
    for reports in calls:
        labels = remembering.label(reports)
        assert (labels.shape, labels.dtype) == ((len(reports), 14), np.int8)
        np.testing.assert_array_equal(labels, Lengths().label(reports))
    assert labeler.asked == list(dict.fromkeys(text for reports in calls for text in reports))


def test_what_is_known_is_not_read() -> None:
    labeler = Lengths()
    known = np.full(14, 3, dtype=np.int8)
    labels = CachedLabeler(labeler, {"aa": known}).label(["b", "aa", "b"])
    assert labels[:, 0].tolist() == [1, 3, 1]
    assert labeler.asked == ["b"]


def test_it_bears_the_labelers_name_and_keeps_its_labels_from_changes() -> None:
    remembering = CachedLabeler(Lengths())
    assert remembering.name == "lengths"
    remembering.label(["aa"])[:] = 0
    assert remembering.label(["aa"])[0, 0] == 2
