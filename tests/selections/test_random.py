"""A plain random subset."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.selections.random import random


def films(count: int) -> pd.DataFrame:
    return pd.DataFrame({"sample_id": [f"film{i:03}" for i in range(count)]}, index=range(7, 7 + count))


@pytest.mark.parametrize(
    ("count", "share", "taken"),
    [(10, 0.3, 3), (10, 0.26, 3), (10, 0.24, 2), (10, 0.01, 1), (1, 0.5, 1), (10, 1.0, 10), (3, 0.5, 2)],
)
def test_count_is_rounded_and_at_least_one(count: int, share: float, taken: int) -> None:
    assert len(random(films(count), 0, share=share)) == taken


@given(st.integers(1, 40), st.floats(0.01, 1), st.integers(0, 9))
def test_films_come_once_and_in_their_order(count: int, share: float, seed: int) -> None:
    found = random(films(count), seed, share=share).tolist()
    assert found == sorted(set(found))
    assert set(found) <= set(films(count)["sample_id"])
    assert random(films(count), seed, share=share).tolist() == found


def test_seed_decides() -> None:
    draws = [tuple(random(films(40), seed, share=0.5)) for seed in range(4)]
    assert len(set(draws)) == 4
