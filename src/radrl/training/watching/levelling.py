"""Whether a training had levelled off when it ended: the slope over the last third of its updates.

By default the watched sample F1 is asked (`radrl.training.watching.watch`), where nothing was watched the
reward. The slope is that of least squares, and a curve moves where its change over the last third is at least
`LEAST` and a one-sided t test of the slope rules out the other direction at `ALPHA`. Either is needed: a
thousand updates would find a slope that matters to nobody, and four looks have large slopes by chance.

**What a few looks tell.** The looks of one training are of the same films by a policy that goes on learning,
so each is taken for its curve plus noise of its own. That noise has a standard deviation of about 0.02 of
sample F1 on 80 films (second differences of the watched curves in docs/results, over their seeds). So much
change over the last third is found in four of five trainings: 0.11 by 4 looks, 0.08 by 5, 0.07 by 6, 0.06 by
8, 0.05 by 12. ``level`` therefore says that no movement was found, not that there is none: the standard error
beside it says how much there may be. A policy that wanders has looks whose errors follow one another, and is
called moving more often than one level training in ten (5 % each way). Seeds together need neither assumption
and see more: six with 4 looks each 0.03, with 2 looks 0.045 (`radrl.studies.levelling`).

**A learning rate that decays levels a curve by itself.** With a linear or cosine schedule the last third has
little of the rate left, so that a level end says that the schedule had ended, not that the arm has nothing
more to learn. Where the history's `learning_rate` fell over the last third, the sentence says so.

Pure functions of the rows of a history.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from scipy.special import stdtr

from radrl.training.watching.history_rows import Row, mean, series, value_at

PER: Final = 60
"""Updates that a slope is told for, whatever a training had: arms of other lengths are read side by side."""
LEAST: Final = 0.01
"""Change over the last third that is a movement: the margin that a study's claims take for the least
difference that matters, and one of 80 watched films from right to wrong."""
ALPHA: Final = 0.05
"""Level of the one-sided test."""
FEWEST: Final = 4
"""Points that a state needs. Three leave one degree of freedom, at which t has to exceed 6.3: no slope of
looks does; with four it is 2.9."""
REWARD: Final = "reward"
DEFAULT: Final = "sample14_f1"
"""The metric that is asked where a watch has it."""


class State(StrEnum):
    """What a curve did at its end."""

    RISING = "rising"
    FALLING = "falling"
    LEVEL = "level"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Levelling:
    """The last third of a curve.

    Args:
        column: of the history; empty where it has neither looks nor a reward.
        updates: of the whole training.
        points: the numbers in the last third.
        slope: change in `PER` updates; nothing under two points.
        error: its standard error; nothing under three points.
        state: what the curve did.
        falling_rate: whether the learning rate fell meanwhile.
    """

    column: str
    updates: int
    points: int
    slope: float | None
    error: float | None
    state: State
    falling_rate: bool

    @property
    def change(self) -> float | None:
        """Over the last third of the updates, by the slope."""
        return None if self.slope is None else self.slope * self.updates / 3 / PER

    def __str__(self) -> str:
        said = f"{_beginning(self)}{' (under a falling rate)' if self.falling_rate else ''}"
        if self.state is State.UNKNOWN:
            lacking = f"{self.points} {_counted(self)} in the last third of {self.updates} updates"
            return f"{said}: {lacking}, where {FEWEST} are needed ({titled(self.column)})"
        return (
            f"{said}: {self.slope:+.3f} in {PER} updates, standard error {self.error:.3f} "
            f"({titled(self.column)}, {self.points} {_counted(self)})"
        )


def levelling(rows: Iterable[Row], column: str | None = None) -> Levelling:
    """Read the end of a curve.

    Args:
        rows: of a history, with `step`; those of `last_third` are read.
        column: of the history; by default the watched sample F1, where nothing was watched the reward.

    Returns:
        Slope and state. A reward whose parts' weights change has the points since the last change.
    """
    kept = sorted(rows, key=lambda row: row["step"])
    column = default_column(kept) if column is None else column
    updates = int(kept[-1]["step"]) if kept else 0
    last = last_third(kept)
    points = _points(_of_last_weights(last) if column == REWARD else last, column)
    slope, error = _slope(points)
    state = State.UNKNOWN
    if len(points) >= FEWEST and slope is not None and error is not None:
        state = judged(slope * updates / 3, error * updates / 3, len(points) - 2)
    told = [None if value is None else value * PER for value in (slope, error)]
    return Levelling(column, updates, len(points), *told, state, _falls(series(last, "learning_rate")))


def last_third(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows from two thirds of the last step on.

    A look that stands exactly there is the state that the last third begins with.

    Args:
        rows: of a history, in the order of their steps.
    """
    return [row for row in rows if 3 * row["step"] >= 2 * rows[-1]["step"]]


def judged(change: float, error: float, freedom: float) -> State:
    """What a curve does that changed by so much.

    Args:
        change: over the last third.
        error: its standard error.
        freedom: degrees of freedom of the error, at least 1.

    Returns:
        Rising or falling where the change is at least `LEAST` and a one-sided t test at `ALPHA` rules out
        the other direction, else level.
    """
    if round(abs(change), 9) < LEAST:  # 0.51 - 0.5 is a change of 0.01
        return State.LEVEL
    if error and stdtr(freedom, -abs(change) / error) >= ALPHA:
        return State.LEVEL
    return State.RISING if change > 0 else State.FALLING


def default_column(rows: Sequence[Row]) -> str:
    """What is asked of a history: its watched sample F1, else its reward, else nothing."""
    names = {name for row in rows for name in row}
    watched = watched_column(names, DEFAULT)
    return next((name for name in (watched, REWARD) if name and series(rows, name)), "")


def watched_column(names: Iterable[str], metric: str) -> str:
    """The column of a watched metric, whoever the labeler is.

    Args:
        names: of a history's columns.
        metric: without its labeler, such as ``sample14_f1`` or ``mccs``.

    Returns:
        The column; empty where it is not watched.
    """
    wanted = re.compile(rf"watch/ce_.+_{re.escape(metric)}")
    return next((name for name in sorted(names) if wanted.fullmatch(name)), "")


def titled(column: str) -> str:
    """A column in words.

    Example:
        >>> titled("watch/ce_rules_sample14_f1")
        'sample F1 on the watched films'
    """
    found = re.fullmatch(r"watch/ce_.+?_(sample|macro|micro)?(?:14_f1|(mccs))", column)
    if found is None:
        return column or "neither looks nor a reward"
    return f"{f'{found[1]} F1' if found[1] else 'MCCS'} on the watched films"


def _beginning(of: Levelling) -> str:
    if of.state is State.UNKNOWN:
        return "not told whether it has levelled off"
    if of.state is not State.LEVEL:
        return f"still {of.state} at the end"
    unsure = of.change is not None and abs(of.change) >= LEAST
    return f"level at the end{f' as far as {of.points} {_counted(of)} tell' if unsure else ''}"


def _counted(of: Levelling) -> str:
    """What the points of a column are."""
    many = "" if of.points == 1 else "s"
    return f"look{many}" if of.column.startswith("watch/") else f"update{many}"


def _points(rows: Sequence[Row], column: str) -> Mapping[int, float]:
    """The numbers by update."""
    known = {int(row["step"]): value_at(row, column) for row in rows}
    return {step: value for step, value in known.items() if value is not None}


def _of_last_weights(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows since the weights of the reward's parts last changed: before, it was another quantity."""
    logged = [row for row in rows if value_at(row, REWARD) is not None]
    since = next((i for i in range(len(logged), 0, -1) if _weights(logged[i - 1]) != _weights(logged[-1])), 0)
    return logged[since:]


def _weights(row: Row) -> dict[str, Any]:
    return {name: value_at(row, name) for name in row if re.fullmatch(r"rewards/.+/weight", name)}


def _slope(points: Mapping[int, float]) -> tuple[float | None, float | None]:
    """Of least squares, an update, and its standard error.

    `scipy.stats.linregress` gives a curve that is constant an error that is no number.
    """
    if len(points) < 2:
        return None, None
    middle, level = mean([*points]), mean([*points.values()])
    spread = math.fsum((step - middle) ** 2 for step in points)
    slope = math.fsum((step - middle) * (value - level) for step, value in points.items()) / spread
    if len(points) == 2:
        return slope, None
    left = [value - level - slope * (step - middle) for step, value in points.items()]
    return slope, math.sqrt(math.fsum(one**2 for one in left) / (len(points) - 2) / spread)


def _falls(rates: Sequence[float]) -> bool:
    return bool(rates) and rates[-1] < rates[0]
