"""Absence of repeated n-grams, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import radrl
from radrl.rewards.repetition import Repetition


def test_by_hand(worth: Callable[..., list[float]]) -> None:
    # "a b a b a b": aba, bab, aba, bab: four, of which two are repeated; case does not matter
    said = ["a b c d", "a b A b a B", "a a a a a", "a b", "", "a b c"]
    found = worth(Repetition(), *(("the reference", text) for text in said))
    assert found == [1.0, pytest.approx(1 - 2 / 4), pytest.approx(1 - 2 / 3), 1.0, 1.0, 1.0]


def test_n_is_a_setting(worth: Callable[..., list[float]]) -> None:
    assert worth(Repetition(n=1), ("", "a b a")) == [pytest.approx(1 - 1 / 3)]
    assert radrl.rewards.get("repetition", n=2)(None, ["a b a b"], reference=["x"]) == [pytest.approx(2 / 3)]
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        radrl.rewards.get("repetition", n=0)
