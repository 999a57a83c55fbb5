"""Where the spread between a study's seeds comes from, pair by pair (`radrl.evaluation.seed_variance`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from radrl.evaluation.seed_variance import Spread, split
from radrl.pages.tables import markdown_table
from radrl.studies.claims.schema import BEST, Hypothesis, Place
from radrl.studies.claims.verdict import both_ways
from radrl.studies.tables import share_films

EXPLAINED: Final = """\
Standard deviations of one seed's difference. By test films: what other draws of as many test patients would
change, from resampling each seed's. By training: the rest of the spread between seeds (weights, order,
rollouts, the films trained on), with its interval; 0 where the films alone explain as much. Greedy reports
add nothing of their own. Twice the test films: what would be left then (`radrl.evaluation.seed_variance`)."""
SHARED: Final = """\
Where the seeds share their films, those tested on are no part of their spread: all of it is by training."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The spread of one pair of rows on one metric.

    Args:
        arm: run and arm.
        over: run and the row that it is set over.
        metric: the metric.
        spread: of the seeds' differences.
    """

    arm: Place
    over: Place
    metric: str
    spread: Spread


def parts(
    asked: Sequence[Hypothesis],
    comparisons: pd.DataFrame,
    pairs: pd.DataFrame,
    *,
    reference: str,
    metrics: Sequence[str],
    level: float,
) -> list[Parts]:
    """Take the spread apart of every arm against the reference arm, and of the pairs that claims are about.

    Args:
        asked: the study's hypotheses; one over the best row of each seed is of no single pair.
        comparisons: the experiments' comparisons below one another, with `run`, `seed` and `shared_films`.
        pairs: the errors over patients of any two rows, likewise.
        reference: the arm the others are tested against.
        metrics: the study's metrics.
        level: coverage of the intervals.

    Returns:
        The parts by metric; none of a study of one seed, and none of a pair whose metric is undefined in a
        resample, or whose rows are of other films in either run, so that its error over patients is unknown.
    """
    seeds = sorted(int(seed) for seed in comparisons["seed"].unique())
    if len(seeds) < 2 or pairs.empty:
        return []
    values = comparisons.set_index(["run", "arm", "metric", "seed"])["value"].to_dict()
    sharing = {str(run) for run, own in comparisons.groupby("run") if share_films(own)}
    known, found = both_ways(pairs), []
    for metric in metrics:
        for arm, over in _pairs(asked, comparisons, reference, metric):
            ours, theirs = (
                [values.get((*row, metric, seed), math.nan) for seed in seeds] for row in (arm, over)
            )
            errors = [known.get((seed, metric, *arm, *over), math.nan) for seed in seeds]
            differences = [one - other for one, other in zip(ours, theirs, strict=True)]
            if all(map(math.isfinite, [*differences, *errors])):
                both = {arm[0], over[0]} <= sharing
                found.append(Parts(arm, over, metric, split(differences, errors, shared=both, level=level)))
    return found


def lines(found: Sequence[Parts]) -> pd.DataFrame:
    """The same as a table, unrounded: variances, since the part of training may be below 0.

    Args:
        found: of `parts`.

    Returns:
        A line a metric and pair, as NAME-spread.csv has them.
    """
    return pd.DataFrame([_line(one) for one in found])


def section(
    found: Sequence[Parts], asked: Sequence[Hypothesis], metrics: Sequence[str], *, runs: bool, level: float
) -> list[str]:
    """The paragraphs of a study's page.

    Args:
        found: of `parts`; none make none.
        asked: the study's hypotheses, on whose metrics the table is; without any it is on the first metric.
        metrics: the study's metrics.
        runs: whether the study has several.
        level: coverage of the intervals.
    """
    shown = {one.metric for one in asked} or set(metrics[:1])
    kept = [one for one in found if one.metric in shown]
    if not kept:
        return []
    header = ["metric", "arm", "over", "sd", "by test films", f"by training ({level:.0%} interval)"]
    rows = [_cells(one, runs=runs) for one in kept]
    said = [EXPLAINED, *([SHARED] if any(one.spread.shared for one in kept) else [])]
    table = markdown_table([*header, "with twice the test films"], rows)
    return ["## Where the spread between seeds comes from", *said, table]


def _pairs(
    asked: Sequence[Hypothesis], comparisons: pd.DataFrame, reference: str, metric: str
) -> Iterator[tuple[Place, Place]]:
    """Arms over the reference arm, run by run, then what claims are about besides; each pair once."""
    arms = comparisons[(comparisons["kind"] == "arm") & (comparisons["arm"] != reference)]
    rows = arms[["run", "arm"]].drop_duplicates().itertuples(index=False)
    wanted = [((str(run), str(arm)), (str(run), reference)) for run, arm in rows]
    wanted += [(one.arm, one.over) for one in asked if one.metric == metric and one.over[1] != BEST]
    yield from dict.fromkeys(wanted)


def _line(one: Parts) -> dict[str, Any]:
    spread = one.spread
    return {
        "metric": one.metric,
        "run": one.arm[0],
        "arm": one.arm[1],
        "over_run": one.over[0],
        "over": one.over[1],
        "seeds": spread.seeds,
        "shared_films": spread.shared,
        "variance": spread.total,
        "variance_test_films": spread.films,
        "variance_training": spread.training,
        "variance_training_low": spread.low,
        "variance_training_high": spread.high,
        "sd_twice_test_films": spread.with_films(2),
    }


def _cells(one: Parts, *, runs: bool) -> list[str]:
    spread = one.spread
    arm, over = (".".join(row) if runs else row[1] for row in (one.arm, one.over))
    total, films = (f"{math.sqrt(own):.4f}" for own in (spread.total, spread.films))
    training, low, high = (
        f"{math.sqrt(max(0.0, own)):.4f}" for own in (spread.training, spread.low, spread.high)
    )
    beside = " (not in the sd)" if spread.shared else ""
    return [
        one.metric,
        arm,
        over,
        total,
        films + beside,
        f"{training} ({low} to {high})",
        f"{spread.with_films(2):.4f}",
    ]
