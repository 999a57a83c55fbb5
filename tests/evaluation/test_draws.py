"""Streams of random numbers: those that the shipped results were drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from radrl.evaluation.draws import Draw, generator


@pytest.mark.parametrize("draw", Draw)
def test_a_stream_is_that_of_seed_and_number(draw: Draw) -> None:
    assert generator(7, draw).random() == np.random.default_rng([7, draw.value]).random()


def test_numbers_stay_what_shipped_results_were_drawn_with() -> None:
    assert [draw.name for draw in sorted(Draw)] == [
        "PATIENTS", "SWAPS", "SHOWN_FILMS",
        "MASKED_TOKENS", "MASKED_FILMS", "POOLED_FILMS", "WEIGHTED_FILMS",
    ]  # fmt: skip
    assert [draw.value for draw in sorted(Draw)] == [0, *range(2, 8)]  # 1 is given to nothing again
