"""DEER's tables 6 and 7 as a study compares them: ways of masking and pools of films stand where arms do.

A metric's name begins with its table's: `masking_` and the labeler that read the labels, or `rewards_`. The
stage tests its rows against the one drawn at random, over the seed's patients. Of two other rows it gives no
more than their values.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from radrl.evaluation.pooling import standard_error
from radrl.params.messages import ParamsError
from radrl.params.schema import Params
from radrl.parts.choices import hint
from radrl.studies.claims.schema import BEST, WITHOUT_MODEL, Hypothesis
from radrl.studies.execution import MASKING, REWARDS, Experiment, collect


@dataclass(frozen=True, slots=True)
class Compared:
    """What the experiments of a study give.

    Args:
        metrics: in their order.
        reference: the row that the others are tested against.
        rows: by run, the rows that a claim may be about.
        without_model: rows beside them that a claim may set one over.
    """

    metrics: Sequence[str]
    reference: str
    rows: Mapping[str, Sequence[str]]
    without_model: Sequence[str]


def of_arms(runs: Mapping[str, Params]) -> Compared:
    """What the stage compare gives: arms, and rows that need no model.

    Args:
        runs: the parameters of each run, which agree in what is compared.
    """
    first = next(iter(runs.values())).compare
    rows = {run: list(params.arms) for run, params in runs.items()}
    return Compared(first.metrics, first.reference, rows, (*WITHOUT_MODEL, BEST))


ABOUT: Final = """\
Rows are no arms here (docs/analyses.md): on a metric that begins with `masking_` they choose the tokens of a
rollout that are masked, on one that begins with `rewards_` they are pools of training films. How sure a
difference from `random` is over a seed's patients is known. Between two other rows it is not: the spread
between seeds alone decides there, and the interval may be narrower than the patients would allow."""

_COLUMNS: Final = ("value", "difference", "difference_low", "difference_high", "p")


def compared(runs: Mapping[str, Params], metrics: Sequence[str] | None, *, where: str) -> Compared:
    """What a study of the stage analyses sets side by side.

    Args:
        runs: the parameters of each run.
        metrics: those that the study asks for; nothing for all that the first run gives.
        where: begins the message.

    Returns:
        Metrics, rows and reference.

    Raises:
        ParamsError: when a metric is none of a run's.
    """
    from radrl.pipelines.analyses.masking import RANDOM

    given = {run: rows_by_metric(params) for run, params in runs.items()}
    asked = list(metrics or next(iter(given.values())))
    for run, own in given.items():
        for metric in asked:
            if metric not in own:
                named = f"{where}, run {run}" if run else where
                raise ParamsError(f"{named}: metrics: {metric!r} is none of the analyses'{hint(metric, own)}")
    rows = {
        run: list(dict.fromkeys(row for metric in asked for row in own[metric])) for run, own in given.items()
    }
    return Compared(asked, RANDOM, rows, ())


def rows_by_metric(params: Params) -> dict[str, tuple[str, ...]]:
    """The rows that the stage has on each of its metrics, in the order of DEER's tables.

    Args:
        params: the run's.
    """
    from radrl.pipelines.analyses import masking, rewards

    strategies = (masking.RANDOM, *params.analyses.credit.parts())
    pools = ("full", rewards.REFERENCE, *rewards.TESTED)
    of_masking = [_of_masking(reader, name) for reader in params.eval.labelers for name in masking.METRICS]
    of_rewards = [_of_rewards(name) for name in rewards.METRICS]
    return dict.fromkeys(of_masking, strategies) | dict.fromkeys(of_rewards, pools)


def require_rows(asked: Sequence[Hypothesis], runs: Mapping[str, Params], *, where: str) -> None:
    """Refuse a claim about a row on a metric of the other table.

    Args:
        asked: the study's hypotheses.
        runs: the parameters of each run.
        where: begins the message.

    Raises:
        ParamsError: naming claim, metric and row.
    """
    given = {run: rows_by_metric(params) for run, params in runs.items()}
    for one in asked:
        for run, row in (one.arm, one.over):
            if row not in (rows := given[run][one.metric]):
                raise ParamsError(
                    f"{where}: claims: {one.claim.says!r} on {one.metric}: {row!r} is no row of that metric"
                    f"{hint(row, rows)}"
                )


def comparisons(given: Sequence[Experiment], metrics: Sequence[str]) -> pd.DataFrame:
    """Both tables of every experiment in the shape of the stage compare's.

    Args:
        given: experiments that have run.
        metrics: the study's.

    Returns:
        A line a run, seed, metric and row, with kind, value, and of rows that the stage tests the difference
        from random with its interval over patients and p.
    """
    masked, rewarded = collect(given, MASKING), collect(given, REWARDS)
    read = zip(masked["labeler"], masked["metric"], strict=True)
    masked = masked.assign(arm=masked["strategy"], metric=[_of_masking(*names) for names in read])
    rewarded = rewarded.assign(arm=rewarded["pool"], metric=rewarded["metric"].map(_of_rewards))
    found = pd.concat([masked, rewarded], ignore_index=True).assign(kind="arm")
    columns = ["run", "seed", "arm", "kind", "metric", *_COLUMNS]
    return found.loc[found["metric"].isin(metrics), columns].reset_index(drop=True)


def errors(found: pd.DataFrame, reference: str, *, level: float) -> pd.DataFrame:
    """The errors over patients of any two rows, as far as they are known.

    Args:
        found: of `comparisons`.
        reference: the row that the stage tests the others against.
        level: coverage of its intervals.

    Returns:
        A line a run, seed, metric and pair (arm, other): the standard error that the interval of the
        difference from the reference implies, and 0 for a pair that the stage does not test.
    """
    lines = []
    for (run, seed, metric), own in found.groupby(["run", "seed", "metric"], sort=False):
        tested = own[own["difference"].notna()]
        ends = zip(tested["arm"], tested["difference_low"], tested["difference_high"], strict=True)
        known = {frozenset((arm, reference)): standard_error(*both, level=level) for arm, *both in ends}
        lines += [
            {"run": run, "seed": seed, "metric": metric, "arm": arm, "other": other}
            | {"error": known.get(frozenset((arm, other)), 0.0)}
            for arm, other in itertools.combinations(own["arm"], 2)
        ]
    return pd.DataFrame(lines)


def _of_masking(reader: str, name: str) -> str:
    return f"masking_{reader}_{name}"


def _of_rewards(name: str) -> str:
    return f"rewards_{name}"
