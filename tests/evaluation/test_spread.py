"""The parts of the spread between seeds: by hand, by simulation, and their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radrl.evaluation.seed_variance import split

NUMBERS = st.floats(-1, 1).map(lambda x: round(x, 6))
SEEDS = st.lists(st.tuples(NUMBERS, NUMBERS.map(abs)), min_size=2, max_size=8)


def test_parts_by_hand() -> None:
    # mean 0.03, squares 0.0004 + 0 + 0.0004 over 2: 0.0004; films (1 + 4 + 1) / 3 e-4
    found = split([0.01, 0.03, 0.05], [0.01, 0.02, 0.01])
    assert found.total == pytest.approx(4e-4)
    assert found.films == pytest.approx(2e-4)
    assert found.training == pytest.approx(2e-4)
    # chi^2(2) at 0.975 and 0.025 is -2 ln of 0.025 and of 0.975: 7.3778 and 0.050636
    assert found.low == 0.0
    assert found.high == pytest.approx(2 * 4e-4 / 0.0506356 - 2e-4, rel=1e-5)
    assert found.with_films(1) == pytest.approx(0.02)
    assert found.with_films(2) == pytest.approx(math.sqrt(3e-4))
    assert found.with_films(1e12) == pytest.approx(math.sqrt(2e-4))


def test_the_lower_end_leaves_0_where_training_is_most_of_it() -> None:
    found = split([0.0, 1.0], [0.01, 0.01], level=0.5)  # chi^2(1) above 0.25: 1.3233
    assert found.low == pytest.approx(0.5 / 1.3233037 - 1e-4, rel=1e-6)


def test_seeds_that_differ_by_less_than_their_films_leave_a_negative_rest() -> None:
    found = split([0.01, 0.01, 0.01], [0.02, 0.02, 0.02])
    assert (found.total, found.training) == (0.0, pytest.approx(-4e-4))
    assert (found.low, found.high) == (0.0, 0.0)
    assert found.with_films(4) == pytest.approx(0.01)


def test_shared_films_are_no_part_of_the_spread() -> None:
    found = split([0.01, 0.03, 0.05], [0.01, 0.02, 0.01], shared=True)
    assert (found.training, found.films) == (pytest.approx(4e-4), pytest.approx(2e-4))
    assert found.with_films(100) == pytest.approx(0.02)


@pytest.mark.parametrize(("training", "films"), [(0.01, 0.006), (0.0, 0.01), (0.02, 0.0)])
def test_planted_variances_come_back(training: float, films: float) -> None:
    """4000 studies of six seeds: the means of the estimates, and how often the interval has the truth."""
    studies, seeds = 4000, 6
    rng = np.random.default_rng(0)
    errors = films * np.sqrt(rng.uniform(0.5, 1.5, (studies, seeds)))  # seeds' films are not all alike
    drawn = 0.01 + rng.normal(0, training, (studies, seeds)) + rng.normal(0, 1, (studies, seeds)) * errors
    found = [split(own, known) for own, known in zip(drawn, errors, strict=True)]
    error = 5 * np.std([one.total for one in found]) / math.sqrt(studies)
    assert np.mean([one.training for one in found]) == pytest.approx(training**2, abs=error)
    assert np.mean([one.films for one in found]) == pytest.approx(films**2, rel=0.02)
    covered = np.mean([one.low <= training**2 <= one.high for one in found])
    assert covered > 0.93


def test_shared_films_leave_training_and_what_is_a_seeds_own() -> None:
    studies, seeds = 4000, 6
    rng = np.random.default_rng(1)
    alike, own = rng.normal(0, 0.02, (studies, 1)), rng.normal(0, 0.003, (studies, seeds))
    drawn = rng.normal(0, 0.01, (studies, seeds)) + alike + own
    errors = [math.hypot(0.02, 0.003)] * seeds
    found = np.mean([split(each, errors, shared=True).training for each in drawn])
    assert found == pytest.approx(0.01**2 + 0.003**2, rel=0.05)


@given(SEEDS, st.floats(-5, 5), st.floats(0.1, 10))
def test_moving_all_seeds_changes_nothing_and_scaling_squares(
    drawn: list[tuple[float, float]], by: float, scale: float
) -> None:
    differences, errors = zip(*drawn, strict=True)
    found = split(differences, errors)
    assert found.total == pytest.approx(found.films + found.training, abs=1e-12)
    moved = split([scale * (one + by) for one in differences], [scale * one for one in errors])
    for name in ("total", "films", "training", "low", "high"):
        assert getattr(moved, name) == pytest.approx(scale**2 * getattr(found, name), rel=1e-6, abs=1e-9)
    assert found.low <= max(found.training, 0) + 1e-12 <= found.high + 1e-9 or found.training < 0


@pytest.mark.parametrize(
    ("differences", "errors", "message"),
    [
        ([0.1], [0.1], "1 differences and 1 errors"),
        ([0.1, 0.2], [0.1], "2 differences and 1 errors"),
        ([0.1, math.nan], [0.1, 0.1], "give finite numbers"),
        ([0.1, 0.2], [0.1, -0.1], "give finite numbers"),
    ],
)
def test_what_cannot_be_split_is_refused(differences: list[float], errors: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split(differences, errors)


def test_a_level_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="level is 1"):
        split([0.1, 0.2], [0.1, 0.1], level=1.0)
