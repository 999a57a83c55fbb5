"""Whether the arms of a study had levelled off: the slopes of their last third of updates, over the seeds.

A seed's slope is that of `radrl.training.watching.levelling`. Over seeds it is their mean, held against its
own spread by the t test: what a seed's looks err by is in that spread, whatever they have in common. So two
looks in the last third, which say nothing of one training, are enough for a slope of each of several.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from radrl.pages.tables import markdown_table
from radrl.studies.curves import Histories, Place
from radrl.training.watching.levelling import (
    DEFAULT,
    LEAST,
    PER,
    Levelling,
    State,
    default_column,
    judged,
    levelling,
    titled,
    watched_column,
)

EXPLAINED: Final = f"""\
How the curves of the arms that trained ended: slope over the last third of an arm's updates by least
squares, as change in {PER} updates, mean over seeds with its standard error. **Rising** or **falling**: the
change over that third is {LEAST:g} or more, and a one-sided t test over the seeds rules out the other
direction at 5 % (with one seed, over its looks). **Level**: neither is told, which few seeds do not tell from
a small movement. **Unknown**: too few looks. A schedule that takes the learning rate to 0 levels a curve by
itself."""


@dataclass(frozen=True, slots=True)
class Levelled:
    """The end of an arm's curve over the seeds.

    Args:
        run: the arm's run.
        arm: the arm.
        column: of the histories.
        updates: the most that a seed had.
        seeds: how many have a slope.
        slope: mean change in `PER` updates; nothing where no seed has one.
        error: its standard error, over seeds; of one seed, over its looks.
        state: what the curve did.
        falling_rate: whether the learning rate fell meanwhile, in any seed.
    """

    run: str
    arm: str
    column: str
    updates: int
    seeds: int
    slope: float | None
    error: float | None
    state: State
    falling_rate: bool


def over_seeds(histories: Histories, metrics: Sequence[str]) -> list[Levelled]:
    """Read the ends of all curves.

    Args:
        histories: of `radrl.studies.curves.histories`.
        metrics: the study's.

    Returns:
        Of each arm that trained its default column (`radrl.training.watching.levelling.default_column`),
        then the watched columns of the metrics.
    """
    found = []
    for (run, arm), tables in _by_place(histories).items():
        default = default_column(tables[0])
        logged = {name for rows in tables for row in rows for name in row}
        watched = [name for metric in metrics if (name := _watched(metric)) in logged]
        for column in dict.fromkeys([default, *watched]):
            found.append(pooled(run, arm, [levelling(rows, column) for rows in tables]))
    return found


def pooled(run: str, arm: str, seeds: Sequence[Levelling]) -> Levelled:
    """Pool the seeds of one arm.

    Args:
        run: the arm's run.
        arm: the arm.
        seeds: the end of the same column in each, at least one.

    Returns:
        Mean slope, its error over seeds, and the state by the t test of the seeds' changes over their last
        thirds; of one seed its own.
    """
    known = [one for one in seeds if one.slope is not None]
    slopes = [one.slope for one in known if one.slope is not None]
    changes = [one.change for one in known if one.change is not None]
    alone = (known or seeds)[0]
    slope, error, state = alone.slope, alone.error, alone.state
    if len(known) > 1:
        slope, error = statistics.fmean(slopes), _error(slopes)
        state = judged(statistics.fmean(changes), _error(changes), len(changes) - 1)
    updates, falls = max(one.updates for one in seeds), any(one.falling_rate for one in seeds)
    return Levelled(run, arm, alone.column, updates, len(known), slope, error, state, falls)


def state_of(found: Iterable[Levelled], place: Place, metric: str) -> State | None:
    """How an arm ended on a metric: by its watched column, else by the arm's watched sample F1.

    Args:
        found: of `over_seeds`.
        place: run and arm.
        metric: of the comparison.

    Returns:
        The state; nothing for a row without a training, which does not move, or whose training was not
        watched: a reward that climbs need not bring a metric along.
    """
    own = {one.column: one.state for one in found if (one.run, one.arm) == place}
    return own.get(_watched(metric)) or own.get(watched_column(own, DEFAULT))


def lines(found: Sequence[Levelled]) -> pd.DataFrame:
    """The same as a table, unrounded.

    Args:
        found: of `over_seeds`.

    Returns:
        A line a run, arm and column, as NAME-levelling.csv has them.
    """
    return pd.DataFrame([_line(one) for one in found])


def section(found: Sequence[Levelled], *, runs: bool) -> list[str]:
    """The paragraphs of a study's page.

    Args:
        found: of `over_seeds`, at least one.
        runs: whether the study has several.
    """
    header = [*(["run"] if runs else []), "arm", "updates", "curve", f"change in {PER} updates", "at the end"]
    rows = [[*([one.run] if runs else []), *_cells(one)] for one in found]
    return ["## Levelled off", EXPLAINED, markdown_table(header, rows)]


def _by_place(histories: Histories) -> dict[Place, list[list[dict[str, Any]]]]:
    """The rows of each seed, by run and arm."""
    found: dict[Place, list[list[dict[str, Any]]]] = {}
    for (run, _), arms in histories.items():
        for arm, table in arms.items():
            rows = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
            found.setdefault((run, arm), []).append(rows)
    return found


def _watched(metric: str) -> str:
    """The column that watches a metric, where one does."""
    return f"watch/{metric}"


def _error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values))


def _line(one: Levelled) -> Mapping[str, Any]:
    return {
        "run": one.run,
        "arm": one.arm,
        "column": one.column,
        "updates": one.updates,
        "seeds": one.seeds,
        f"change_in_{PER}": one.slope,
        "error": one.error,
        "state": one.state.value,
        "falling_rate": one.falling_rate,
    }


def _cells(one: Levelled) -> list[str]:
    said = "-" if one.slope is None else f"{one.slope:+.3f}"
    said += "" if one.error is None else f" ± {one.error:.3f}"
    rate = ", under a falling rate" if one.falling_rate else ""
    return [one.arm, str(one.updates), titled(one.column), said, f"{one.state}{rate}"]
