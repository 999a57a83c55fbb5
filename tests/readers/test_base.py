"""Thresholds with the best F1."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.readers import best_f1


def of(probabilities: list[float], targets: list[int]) -> float:
    (found,) = best_f1(np.array(probabilities)[:, None], np.array(targets, dtype=bool)[:, None])
    return float(found)


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        # F1 after 1, 2, 3, 4 films: 2/4, 2/5, 4/6, 6/7; the best takes all of them
        ([1, 0, 1, 1], (0.2 - 1) / 2),
        # 2/2, 2/3, 2/4, 2/5: the first alone
        ([1, 0, 0, 0], (0.9 + 0.8) / 2),
        # 2/3, 4/4, 4/5, 4/6
        ([1, 1, 0, 0], (0.8 + 0.4) / 2),
    ],
)
def test_the_best_threshold_lies_between_two_probabilities(targets: list[int], expected: float) -> None:
    assert of([0.9, 0.8, 0.4, 0.2], targets) == pytest.approx(expected)
    assert of([0.2, 0.4, 0.8, 0.9], targets[::-1]) == pytest.approx(expected)


def test_equal_probabilities_fall_on_one_side() -> None:
    # F1 2/4 for the 0.9 alone, 6/7 with all three of 0.5, whatever their order
    assert of([0.9, 0.5, 0.5, 0.5], [1, 1, 0, 1]) == of([0.9, 0.5, 0.5, 0.5], [1, 0, 1, 1]) < 0.5


def test_of_equally_good_thresholds_the_highest_is_taken() -> None:
    # F1 2/3 with one film, 4/6 with all four
    assert of([0.9, 0.6, 0.5, 0.4], [1, 0, 0, 1]) == pytest.approx(0.75)


def test_a_label_that_no_sample_has_is_never_read() -> None:
    assert of([1.0, 0.0], [0, 0]) == np.inf


def test_a_label_that_all_samples_have_is_always_read() -> None:
    assert of([1.0, 0.0], [1, 1]) < 0
