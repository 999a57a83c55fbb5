"""DiTPO's rule on letters: its settings, an empty batch, and films whose rollouts are parted."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import pytest

from radrl.credit.base import Rollouts
from radrl.credit.tf_idf import TfIdf

Wrote = Callable[..., Rollouts]


@pytest.mark.parametrize(
    ("alpha", "tf", "idf", "weight"),
    [
        # "bb" stands in one of two rollouts, two of whose three tokens it is
        (4.0, "relative", "plain", 1 + 4 * 2 / 3 * log(2)),
        (0.5, "relative", "plain", 1 + 0.5 * 2 / 3 * log(2)),
        (0.5, "raw", "plain", 1 + 0.5 * 2 * log(2)),
        (0.5, "raw", "sklearn", 1 + 0.5 * 2 * (log(3 / 2) + 1)),
    ],
)
def test_settings_by_hand(letters: Any, wrote: Wrote, alpha: float, tf: Any, idf: Any, weight: float) -> None:
    found = TfIdf(letters, alpha=alpha, tf=tf, idf=idf).weigh(wrote("abb", "a", films=["x", "x"], group=2))
    assert found.values[0][1:].tolist() == [pytest.approx(weight)] * 2


def test_no_rollout_has_no_weight(letters: Any, wrote: Wrote) -> None:
    found = TfIdf(letters, alpha=4.0, tf="relative", idf="plain").weigh(wrote(films=[], group=2))
    assert (found.values, found.spans) == ([], [])


@pytest.mark.parametrize(
    ("films", "cut"),
    [("xxy", "y"), ("x", "x"), ("xyyz", "x"), ("xxyz", "y"), ("xxyyz", "z")],
)
def test_film_whose_rollouts_are_parted_is_named(letters: Any, wrote: Wrote, films: str, cut: str) -> None:
    credit = TfIdf(letters, alpha=4.0, tf="relative", idf="plain")
    said = f"but film {cut} has only some of its own among this process's {len(films)};"
    with pytest.raises(ValueError, match=said):
        credit.weigh(wrote(*("a" for _ in films), films=[*films], group=2))
