"""Training curves of a study over its seeds: what the arms' histories say, averaged."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from radrl.params.schema import Params
from radrl.params.training import Arm
from radrl.storage import table_files
from radrl.studies.execution import AGAIN, Experiment

HISTORIES: Final = Path("data/08_reporting/training/arms")
LABELS: Final = Path("data/03_primary/labels.parquet")

EVERY: Final = 5
"""Steps whose mean is one point: a single step's reward is of 64 rollouts."""
STEPWISE: Final = (
    "reward",
    "groups/zero_reward_share",
    "groups/all_zero_share",
    "groups/zero_variance_share",
    "oracle/mixing_weight",
    "kl",
    "entropy",
    "completions/mean_length",
)
"""Columns with a value at every step."""
WATCHED: Final = ("watch/findings_per_report", "watch/findings_per_reference", "watch/mean_length")
"""Columns with a value at the looks alone; `docs/training.md` says what all of them are."""
AVERAGED: Final = r"watch/ce_\w+_(sample14|macro14)_f1"
OF_LABEL: Final = r"watch/ce_\w+_f1/(.+)"
COLUMNS: Final = ("run", "arm", "step", "what", "mean", "sd", "seeds")

Place = tuple[str, str]
"""A run and an arm."""
Histories = Mapping[tuple[str, int], Mapping[str, pd.DataFrame]]
"""By run and seed, and by arm, step and what the trainer logged."""


def over_seeds(given: Sequence[Experiment]) -> pd.DataFrame:
    """The curves of every arm that trained.

    Args:
        given: experiments that have run.

    Returns:
        As `averaged`, without lines where no arm trained.
    """
    files = [one.clone / LABELS for one in given if (one.clone / LABELS).is_file()]
    labels = [table_files.read_parquet(file, mend=AGAIN).to_pandas() for file in files]
    return averaged(histories(given), labels)


def histories(given: Sequence[Experiment]) -> Histories:
    """What the trainers of all arms logged.

    Args:
        given: experiments that have run.
    """
    return {(one.run, one.seed): _histories(one) for one in given}


def averaged(histories: Histories, labels: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Mean and spread of what was logged, over seeds.

    A column of every step is first averaged over `EVERY` steps within a seed, and stands at the last of them;
    a column of looks stands at its own steps. Of single labels those of OraPO's figure 2 are kept and the
    rarest two of the training reports.

    Args:
        histories: by run and seed, and by arm, step and what the trainer logged.
        labels: of the stage label, of each experiment.

    Returns:
        A line a run, arm, quantity and step, columns `COLUMNS`; sd is the sample standard deviation between
        seeds, and absent with one.
    """
    kept = {*STEPWISE, *WATCHED, *_clinical(histories, labels)}
    points = [
        _points(history, kept).assign(run=run, arm=arm)
        for (run, _), arms in histories.items()
        for arm, history in arms.items()
    ]
    if not points:
        return pd.DataFrame(columns=[*COLUMNS])
    grouped = pd.concat(points, ignore_index=True).groupby(["run", "arm", "what", "step"], sort=False)
    found = grouped["value"].agg(mean="mean", sd="std", seeds="count").reset_index()
    order = {place: i for i, place in enumerate(found[["run", "arm"]].itertuples(index=False, name=None))}
    by = found.assign(place=[order[run, arm] for run, arm in zip(found["run"], found["arm"], strict=True)])
    return by.sort_values(["place", "what", "step"], kind="stable", ignore_index=True)[[*COLUMNS]]


def with_and_without(runs: Mapping[str, Params]) -> list[Place]:
    """The arms that learn by an oracle or FactS, each beside the one most like it that lacks one of the two.

    Args:
        runs: the parameters of each run.

    Returns:
        Run and arm, in the study's order; none where every arm that trains has them, or none has.
    """
    chosen = set()
    for run, params in runs.items():
        trained = {name: arm for name, arm in params.arms.items() if arm.reward is not None}
        for name, arm in trained.items():
            lacking = [other for other, own in trained.items() if _has(arm) - _has(own)]
            if lacking:
                nearest = min(lacking, key=lambda other: _differing(arm, trained[other]))
                chosen |= {(run, name), (run, nearest)}
    return [(run, arm) for run, params in runs.items() for arm in params.arms if (run, arm) in chosen]


def _has(arm: Arm) -> set[str]:
    facts = arm.reward is not None and "facts" in arm.reward.parts()
    return {name for name, there in (("oracle", arm.oracle is not None), ("facts", facts)) if there}


def _differing(one: Arm, other: Arm) -> tuple[bool, int]:
    """Whether they start from different policies, and how many of their settings differ."""
    ours, theirs = one.model_dump(), other.model_dump()
    return one.start != other.start, sum(ours[key] != theirs[key] for key in ours)


def _histories(one: Experiment) -> dict[str, pd.DataFrame]:
    """By arm, what its trainer logged; an arm that hands its start on logged nothing."""
    files = {arm: one.clone / HISTORIES / f"{arm}.csv" for arm in one.params["arms"]}
    tables = {arm: table_files.read_csv(file, mend=AGAIN) for arm, file in files.items() if file.is_file()}
    return {arm: table for arm, table in tables.items() if len(table)}


def _clinical(histories: Histories, labels: Sequence[pd.DataFrame]) -> set[str]:
    """The columns of watched F1 that are kept."""
    from radrl.pipelines.compare.training import FIGURE_2, RARE

    tables = [table for arms in histories.values() for table in arms.values()]
    names = {str(name) for table in tables for name in table}
    told = [{found[1] for name in table if (found := re.fullmatch(OF_LABEL, str(name)))} for table in tables]
    in_all = set.intersection(*told) if told else set()
    rarest = [name for name in _rare(labels) if name in in_all and name not in FIGURE_2][:RARE]
    wanted = {*FIGURE_2, *rarest}
    of_label = {name for name in names if (found := re.fullmatch(OF_LABEL, name)) and found[1] in wanted}
    return of_label | {name for name in names if re.fullmatch(AVERAGED, name)}


def _rare(labels: Sequence[pd.DataFrame]) -> list[str]:
    """The findings that are frequent enough to be learnt in every seed, the rarest over all seeds first."""
    from radrl.pipelines.compare.training import rare_labels

    counts = [rare_labels(table) for table in labels]
    common = set.intersection(*({*own} for own in counts)) if counts else set()
    return sorted(common, key=lambda name: (sum(own[name] for own in counts), name))


def _points(history: pd.DataFrame, kept: Collection[str]) -> pd.DataFrame:
    """A seed's points: step, what, value."""
    long = history[["step", *(name for name in history if name in kept)]].melt(
        "step", var_name="what", value_name="value"
    )
    long = long.dropna(subset=["value"])
    stepwise = long["what"].isin(STEPWISE)
    blocks = -(-long["step"] // EVERY) * EVERY
    long["step"] = long["step"].mask(stepwise, blocks)
    return long.groupby(["what", "step"], sort=False)["value"].mean().reset_index()
