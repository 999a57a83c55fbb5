"""The error over patients of a difference between arms of two runs, which no run's own comparison holds.

Runs of a study that score the same films hold the same patients: resampled together, as one comparison would
(`radrl.evaluation.comparison`). Where their films or references differ, or a row has no reports of its own,
the line of a pair has no error, and the spread between seeds alone decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pandas as pd

from radrl.storage import table_files
from radrl.studies.claims.schema import Hypothesis
from radrl.studies.execution import AGAIN, Experiment

if TYPE_CHECKING:
    from radrl.evaluation import Metrics

SCORED: Final = "data/08_reporting/eval/{arm}/per_report.parquet"
"""What eval found of each report of an arm."""

LABELERS: Final = Path("data/06_models/labeler")

KEPT: Final = Path("across_runs.csv")
"""Beside the tables of an experiment that ran elsewhere, its lines of `errors`: it has no single reports."""
COLUMNS: Final = ("run", "seed", "metric", "arm", "other_run", "other", "error")
_NAMES: Final = ("run", "metric", "arm", "other_run", "other")

Runs = tuple[str, str]
Pair = tuple[str, str, str]
"""A metric and two rows, each ``run.arm``, in the order of the alphabet."""


def any_asked(asked: Sequence[Hypothesis]) -> bool:
    """Whether a hypothesis is of arms of two runs."""
    return any(one.arm[0] != one.over[0] for one in asked)


def errors(asked: Sequence[Hypothesis], planned: Sequence[Experiment]) -> pd.DataFrame:
    """The errors of all hypotheses whose two rows are arms of two runs.

    Args:
        asked: the study's hypotheses.
        planned: its experiments, all of which have run.

    Returns:
        A line a seed, metric and pair, with `COLUMNS`; of what ran elsewhere those that its file holds.
    """
    wanted: dict[Runs, list[Hypothesis]] = {}
    for one in asked:
        if one.arm[0] != one.over[0]:
            wanted.setdefault((one.arm[0], one.over[0]), []).append(one)
    known = {(one.run, one.seed): one for one in planned}
    lines = [
        line
        for runs, own in wanted.items()
        for seed in sorted({one.seed for one in planned})
        for line in _of_seed(own, *(known[run, seed] for run in runs))
    ]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _of_seed(
    asked: Sequence[Hypothesis], first: Experiment, second: Experiment
) -> Iterator[Mapping[str, Any]]:
    """The lines of one seed."""
    if (kept := first.clone / KEPT).is_file():
        lines = table_files.read_csv(kept, mend=AGAIN, text=_NAMES)
        yield from cast(list[dict[str, Any]], lines[lines["other_run"] == second.run].to_dict("records"))
        return
    found = _found(asked, first, second)
    for one in asked:
        yield {
            "run": one.arm[0],
            "seed": first.seed,
            "metric": one.metric,
            "arm": one.arm[1],
            "other_run": one.over[0],
            "other": one.over[1],
            "error": found.get(_pair(one.metric, ".".join(one.arm), ".".join(one.over)), math.nan),
        }


def _found(asked: Sequence[Hypothesis], first: Experiment, second: Experiment) -> dict[Pair, float]:
    """The errors of one seed; none where the runs have no two arms on the same films."""
    from radrl.evaluation.comparison import pair_errors
    from radrl.pipelines.compare.inputs import OtherFilms, gather_reports

    places = {one.arm for one in asked} | {one.over for one in asked}
    files = {f"{run}.{arm}": _scored(first if run == first.run else second, arm) for run, arm in places}
    # a row that needs no model has no file
    there = {name: file for name, file in sorted(files.items()) if file.is_file()}
    if len(there) < 2:
        return {}
    reports = {name: table_files.read_parquet(file, mend=AGAIN).to_pandas() for name, file in there.items()}
    try:
        tables = gather_reports(**reports)
    except OtherFilms:
        return {}
    metrics = list(dict.fromkeys(one.metric for one in asked))
    return {
        _pair(pair.metric, pair.arm, pair.other): pair.error
        for drawn in _replicates(tables, metrics, first)
        for pair in pair_errors(drawn)
    }


def _pair(metric: str, one: str, other: str) -> Pair:
    return (metric, min(one, other), max(one, other))


def _replicates(
    tables: Mapping[str, pd.DataFrame], metrics: Sequence[str], of: Experiment
) -> Iterator[dict[str, Metrics]]:
    """By scorer, every arm's replicates over the same resamples of patients."""
    from radrl.evaluation.comparison import drawn_alike
    from radrl.pipelines.compare.rows import Row
    from radrl.pipelines.compare.scores import build_groups, score_rows
    from radrl.pipelines.scored_texts import texts_of
    from radrl.scoring.names import group_names

    params = of.params
    groups = build_groups(
        group_names(metrics, params["eval"]),
        tables,
        settings=params["eval"],
        labeler=params["labeler"],
        models=of.clone / LABELERS,
        device=params["device"],
    )
    rows = {name: Row(texts_of(table, "report"), stored=table) for name, table in tables.items()}
    films = next(iter(tables.values()))
    for group in groups.values():
        scores = score_rows(rows, group, texts_of(films, "reference"))
        patients, kept = films["patient_id"], next(iter(scores.values())).kept
        yield drawn_alike(
            {name: own.summed for name, own in scores.items()},
            (patients if kept is None else patients[kept]).tolist(),
            resamples=params["compare"]["bootstrap"]["resamples"],
            seed=of.seed,
        )


def _scored(experiment: Experiment, arm: str) -> Path:
    return experiment.clone / SCORED.format(arm=arm)
