"""Distances between sets of unit vectors: by hand, and their laws."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.algorithms.set_distances import DISTANCES, FARTHEST, Distance, set_distance

EAST, NORTH, WEST = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([-1.0, 0.0])
SKEW = np.array([0.6, 0.8])  # cosine 0.6 with EAST, 0.8 with NORTH


def test_chamfer_and_hausdorff_by_hand() -> None:
    one, other = np.stack([EAST, NORTH]), np.stack([SKEW])
    # each of the two has SKEW alone: 0.4 and 0.2; SKEW's nearest is NORTH, 0.2
    assert set_distance(one, other, distance="chamfer") == pytest.approx((0.3 + 0.2) / 2)
    assert set_distance(one, other, distance="hausdorff") == pytest.approx(0.4)
    euclidean = set_distance(one, other, distance="hausdorff", ground="euclidean")
    assert euclidean == pytest.approx(math.sqrt(0.4**2 + 0.8**2))


def test_assignment_by_hand() -> None:
    one, other = np.stack([EAST, NORTH]), np.stack([SKEW])
    # NORTH takes SKEW at 0.2, EAST is alone and costs 1
    assert set_distance(one, other, distance="assignment") == pytest.approx((0.2 + 1.0) / 2)
    # NORTH to SKEW and EAST to WEST (2), or NORTH to WEST (1) and EAST to SKEW (0.4): the second
    both = np.stack([SKEW, WEST])
    assert set_distance(one, both, distance="assignment") == pytest.approx((1.0 + 0.4) / 2)


def test_energy_by_hand() -> None:
    one, other = np.stack([EAST, WEST]), np.stack([EAST])
    # 2 * (0 + 2)/2 - (0 + 2 + 2 + 0)/4 - 0
    found = set_distance(one, other, distance="energy", ground="euclidean")
    assert found == pytest.approx(2 * 1.0 - 1.0)
    worst = set_distance(np.stack([EAST]), np.stack([WEST]), distance="energy", ground="euclidean")
    assert worst == pytest.approx(FARTHEST["energy"])


def test_mmd_by_hand() -> None:
    # |x - y|^2 is 2; k = exp(-2 / (2 * 0.25))
    found = set_distance(np.stack([EAST]), np.stack([NORTH]), distance="mmd", width=0.5)
    assert found == pytest.approx(2 - 2 * math.exp(-4))


def test_what_is_none_is_refused() -> None:
    one = np.stack([EAST])
    with pytest.raises(ValueError, match="set without an element"):
        set_distance(one, one[:0], distance="chamfer")
    with pytest.raises(ValueError, match="unknown distance 'wasserstein'; valid: chamfer"):
        set_distance(one, one, distance="wasserstein")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="set ground to euclidean"):
        set_distance(one, one, distance="energy", ground="cosine")


@st.composite
def sets(draw: st.DrawFn) -> np.ndarray:
    numbers = st.floats(-1, 1).filter(lambda value: abs(value) > 1e-3)
    rows = draw(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=4))
    found = np.array(rows)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


@pytest.mark.parametrize("distance", DISTANCES)
@given(one=sets(), other=sets())
def test_laws(distance: Distance, one: np.ndarray, other: np.ndarray) -> None:
    def far(x: np.ndarray, y: np.ndarray) -> float:
        return set_distance(x, y, distance=distance, ground="euclidean")

    apart = far(one, other)
    assert 0 <= apart <= FARTHEST[distance] + 1e-9
    assert far(other, one) == pytest.approx(apart, abs=1e-9)
    for order in list(permutations(range(len(one))))[:6]:
        assert far(one[list(order)], other) == pytest.approx(apart, abs=1e-9)
    assert far(one, one[::-1]) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("distance", "sees"),
    [("chamfer", False), ("hausdorff", False), ("assignment", True), ("energy", True), ("mmd", True)],
)
def test_which_see_that_one_thing_is_said_three_times(distance: Distance, sees: bool) -> None:
    once, thrice = np.stack([EAST, NORTH]), np.stack([EAST, NORTH, NORTH, NORTH])
    found = set_distance(thrice, once, distance=distance, ground="euclidean")
    assert (found > 0.01) == sees
