"""The end of a curve: slopes worked out by hand, what is no movement, and the laws a slope obeys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from histories import CLIMB, both, line, run
from hypothesis import given
from hypothesis import strategies as st

from radrl.training.watching.diagnosis import diagnose
from radrl.training.watching.levelling import (
    FEWEST,
    PER,
    State,
    default_column,
    judged,
    levelling,
    titled,
    watched_column,
)

F1 = "watch/ce_rules_sample14_f1"


def looks(values: Sequence[float], *, every: int = 10, before: int = 8, **more: Any) -> list[dict[str, Any]]:
    """A history of looks alone, of which the values are the last; before them it stood at 0.

    With 8 looks before and 5 values these stand at steps 80 to 120: the last third.
    """
    told = [0.0] * before + [*values]
    return [{"step": i * every, F1: value} | more for i, value in enumerate(told)]


def test_slope_and_error_by_hand() -> None:
    found = levelling(looks([0.50, 0.52, 0.51, 0.55, 0.57]))
    # steps 80 to 120, middle 100: sum of squares 1000; sum of products
    # -20 * 0.50 - 10 * 0.52 + 10 * 0.55 + 20 * 0.57 = 1.7: slope 0.0017 an update, 0.102 in 60
    assert (found.column, found.updates, found.points) == (F1, 120, 5)
    assert found.slope == pytest.approx(0.102)
    # mean 0.53, line 0.496 0.513 0.530 0.547 0.564; residuals 0.004 0.007 -0.020 0.003 0.006, squares
    # 0.00051 by 3 degrees 0.00017; by 1000 and its root 0.000412 an update
    assert found.error == pytest.approx(60 * math.sqrt(0.00017 / 1000))
    # over a third of 120 updates 0.068; t = 0.0017 / 0.000412 = 4.1, 2.35 with 3 degrees at 5 %
    assert found.change == pytest.approx(0.068)
    assert found.state is State.RISING
    assert str(found) == (
        "still rising at the end: +0.102 in 60 updates, standard error 0.025 "
        "(sample F1 on the watched films, 5 looks)"
    )


def test_what_came_before_the_last_third_is_not_read() -> None:
    climb = [{"step": 10 * i, F1: min(0.08 * i, 0.5)} for i in range(13)]
    # 0.48 at step 60, 0.5 from 70 on
    assert levelling(climb).state is State.LEVEL
    assert str(levelling(climb)).startswith("level at the end: +0.000 in 60 updates")


def test_noise_is_no_movement_however_steep() -> None:
    found = levelling(looks([0.50, 0.62, 0.44, 0.64, 0.54]))
    # products -10 - 6.2 + 6.4 + 10.8 = 1.0: 0.001 an update and 0.04 over the third; residuals -0.028 0.082
    # -0.108 0.082 -0.028, squares 0.02668: error 0.00298, t 0.34
    assert found.slope == pytest.approx(0.06)
    assert found.error == pytest.approx(60 * math.sqrt(0.02668 / 3 / 1000))
    assert found.state is State.LEVEL
    assert str(found).startswith("level at the end as far as 5 looks tell: +0.060 in 60 updates")


@pytest.mark.parametrize(
    ("change", "error", "freedom", "state"),
    [
        (0.02, 0.0, 3, State.RISING),
        (-0.02, 0.0, 3, State.FALLING),
        (0.51 - 0.5, 0.0, 3, State.RISING),  # 0.01, but for rounding
        (0.0099, 0.0, 3, State.LEVEL),
        # one-sided t at 5 %: 2.920 with 2 degrees, 2.015 with 5
        (0.0293, 0.01, 2, State.RISING),
        (0.0291, 0.01, 2, State.LEVEL),
        (-0.0202, 0.01, 5, State.FALLING),
        (-0.0201, 0.01, 5, State.LEVEL),
    ],
)
def test_a_movement_matters_and_is_beyond_its_noise(
    change: float, error: float, freedom: float, state: State
) -> None:
    assert judged(change, error, freedom) is state


def test_few_looks_tell_nothing() -> None:
    # steps 0, 15, ..., 60: the last third has those at 45 and 60
    found = levelling(looks([0.30, 0.40, 0.50], every=15, before=2))
    assert (found.points, found.state, found.error) == (2, State.UNKNOWN, None)
    assert found.slope == pytest.approx(0.4)  # 0.1 in 15 updates
    assert str(found) == (
        "not told whether it has levelled off: 2 looks in the last third of 60 updates, where 4 are needed "
        "(sample F1 on the watched films)"
    )
    assert levelling(looks([0.5] * (FEWEST - 1), before=6)).state is State.UNKNOWN
    assert levelling(looks([0.5] * FEWEST, before=6)).state is State.LEVEL


def test_a_history_of_nothing_is_unknown() -> None:
    for rows in ([], [{"step": 0, F1: 0.4}], [{"step": 3, "loss": 0.1}]):
        assert levelling(rows).state is State.UNKNOWN
    assert "neither looks nor a reward" in str(levelling([]))


def test_gaps_of_a_csv_are_no_points() -> None:
    rows = looks([0.50, 0.52, 0.51, 0.55, 0.57])
    gaps = [{"step": step, F1: math.nan, "reward": 0.1} for step in range(1, 120) if step % 10]
    assert levelling([*gaps, *rows]) == levelling(rows)


def test_a_falling_rate_is_said() -> None:
    rows = [row | {"learning_rate": 1e-4 * (120 - row["step"])} for row in looks([0.5] * 5)]
    found = levelling(rows)
    assert found.falling_rate
    assert str(found).startswith("level at the end (under a falling rate): +0.000 in 60 updates")
    assert not levelling(looks([0.5] * 5, learning_rate=1e-4)).falling_rate
    # warmed up and then constant, as shipped
    warm = [row | {"learning_rate": min(row["step"], 30)} for row in looks([0.5] * 5)]
    assert not levelling(warm).falling_rate


def test_the_reward_is_asked_where_nothing_was_watched() -> None:
    assert default_column(run()) == F1
    blind = [{k: v for k, v in row.items() if not k.startswith("watch/")} for row in run(CLIMB)]
    found = levelling(blind)
    # 0.2 in 40 updates; of steps 1 to 40 those from 27 on
    assert (found.column, found.points) == ("reward", 14)
    assert found.slope == pytest.approx(0.3)
    assert str(found).endswith("(reward, 14 updates)")


def test_a_reward_with_other_weights_is_another_quantity() -> None:
    rows = [
        {"step": i, "reward": 0.2 + 0.5 * (i > 50), "rewards/bleu2/weight": float(i > 50)}
        for i in range(1, 61)
    ]
    found = levelling(rows)
    assert (found.points, found.state) == (10, State.LEVEL)
    late = [row | {"rewards/bleu2/weight": float(row["step"] > 57)} for row in rows]
    assert levelling(late).state is State.UNKNOWN


def test_columns_are_found_whoever_the_labeler_is_and_said_in_words() -> None:
    names = ["reward", "watch/ce_chexbert_compact_macro14_f1", "watch/ce_chexbert_compact_mccs"]
    assert watched_column(names, "macro14_f1") == names[1]
    assert watched_column(names, "mccs") == names[2]
    assert watched_column(names, "sample14_f1") == ""
    said = ["reward", "macro F1 on the watched films", "MCCS on the watched films"]
    assert [titled(name) for name in names] == said


class TestFindings:
    def test_still_rising_is_a_note_at_the_end_alone(self) -> None:
        rows = run(line(F1, 0.4, 0.6), every=3)
        (finding,) = diagnose(rows)
        assert (finding.name, finding.severity, finding.steps) == ("still_rising", "note", "steps 27 to 40")
        # 0.2 in 40 updates
        assert finding.says.startswith("still rising at the end: +0.300 in 60 updates, standard error 0.000")
        assert finding.mend.startswith("Raise training.steps")
        assert diagnose(rows, ended=False) == []

    def test_still_falling_unless_the_reward_was_hacked(self) -> None:
        fall = line(F1, 0.6, 0.4)
        (finding,) = diagnose(run(fall, every=3))
        assert (finding.name, finding.severity) == ("still_falling", "note")
        assert [one.name for one in diagnose(run(both(CLIMB, fall), every=3))] == ["hacking_falling_f1"]

    def test_a_reward_that_falls_unwatched_is_none(self) -> None:
        rows = run(line("reward", 0.6, 0.4))
        assert diagnose([{k: v for k, v in row.items() if not k.startswith("watch/")} for row in rows]) == []


curves = st.lists(st.integers(-500, 500).map(lambda n: n / 1000), min_size=5, max_size=5)


@given(curves, st.integers(-1000, 1000).map(lambda n: n / 1000))
def test_a_constant_changes_no_slope(values: list[float], constant: float) -> None:
    before, after = (levelling(looks(own)) for own in (values, [value + constant for value in values]))
    assert after.slope == pytest.approx(before.slope, abs=1e-9)
    assert after.error == pytest.approx(before.error, abs=1e-9)


@given(curves)
def test_reversed_or_mirrored_a_curve_has_the_other_sign(values: list[float]) -> None:
    told = levelling(looks(values))
    opposite = {State.RISING: State.FALLING, State.FALLING: State.RISING}
    for other in (values[::-1], [-value for value in values]):
        found = levelling(looks(other))
        assert found.slope == pytest.approx(-told.slope, abs=1e-9)  # type: ignore[operator]
        assert found.error == pytest.approx(told.error, abs=1e-9)
        assert found.state is opposite.get(told.state, told.state)


@given(curves, st.integers(2, 50))
def test_stretched_over_more_updates_it_is_as_much_flatter(values: list[float], times: int) -> None:
    told, found = levelling(looks(values)), levelling(looks(values, every=10 * times))
    assert found.slope == pytest.approx(told.slope / times, abs=1e-9)  # type: ignore[operator]
    assert found.change == pytest.approx(told.change, abs=1e-9)
    assert found.state is told.state


@given(curves, st.permutations(range(13)))
def test_the_order_of_rows_changes_nothing(values: list[float], order: list[int]) -> None:
    rows = looks(values)
    assert levelling([rows[i] for i in order]) == levelling(rows)


@given(st.integers(-300, 300))
def test_a_straight_line_moves_where_it_goes_anywhere(thousandths: int) -> None:
    """Over the last third by so many thousandths."""
    found = levelling(looks([0.4 + thousandths / 4000 * i for i in range(5)]))
    assert found.slope == pytest.approx(thousandths / 1000 * PER / 40, abs=1e-9)
    expected = State.LEVEL if abs(thousandths) < 10 else State.RISING if thousandths > 0 else State.FALLING
    assert found.state is expected
