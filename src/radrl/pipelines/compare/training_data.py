"""What the arms learnt from: films by selection, updates and rollouts, and how diverse what they wrote is."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from radrl.observations import OBSERVATIONS
from radrl.selections.ddsampling import taken
from radrl.training import course

PARTS: Final = 10
"""Parts of equal size into which the training films are put by their diversity."""

OVER_STEPS: Final = {
    "groups/unique_rewards": "different rewards in a group",
    "groups/zero_variance_share": "groups of equal clinical rewards",
    "entropy": "entropy, nats a token",
}
"""Columns of a history that say how diverse rollouts are."""


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset of the training films.

    Args:
        name: as an arm's `selection` has it.
        films: how many.
        arms: that trained on it.
        diversity: mean over its films (DEER eq. 3); nothing where no rollouts were scored.
        taken: share of each of `PARTS` parts of the films that it has, the least diverse part first.
        labels: positive labels a study.
        shares: of its studies, positive for each observation.
    """

    name: str
    films: int
    arms: Sequence[str]
    diversity: float | None
    taken: Sequence[float]
    labels: float
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Trained:
    """How long an arm trained.

    Args:
        updates: optimiser steps; 0 of an arm that hands its start on.
        rollouts: reports sampled for them.
    """

    updates: int
    rollouts: int


@dataclass(frozen=True, slots=True)
class Written:
    """How diverse an arm's rollouts and reports are.

    Args:
        distinct: different reports on the scored films, as a share of the films.
        commonest: share of the films that got the commonest report.
        course: of a column of `OVER_STEPS` its mean over the first and the last tenth of the updates.
    """

    distinct: float
    commonest: float
    course: Mapping[str, tuple[float, float]]


LEFT: Final = {
    ("ddsampling", "most_diverse"): ("ddsampling_summary", "diversity", "subset_most_diverse"),
    ("full", "random", "balanced"): ("selection_summary", "subset_full", "subset_random", "subset_balanced"),
}
"""By the subsets that a stage draws, its datasets that are looked at."""


def left_for(arms: Mapping[str, Any], trained: Collection[str]) -> list[str]:
    """The datasets of the stages that the films of some arm come from.

    Args:
        arms: the section `arms`.
        trained: names of those that trained.

    Returns:
        Names; a stage that no arm waited for may not have run, or run at any time, and has none here.
    """
    used = {arms[arm].get("selection", "full") for arm in trained if arm in arms}
    return [name for drawn, names in LEFT.items() if used & {*drawn} for name in names]


def subsets(left: Mapping[str, Any], arms: Mapping[str, Any]) -> list[Subset]:
    """The subsets that were counted.

    Args:
        left: by dataset what the stages selection and ddsampling left, as far as it is there.
        arms: the section `arms`.

    Returns:
        In the order of the summaries, each subset once; none of a corpus without training films.
    """
    diversity = left.get("diversity", pd.DataFrame({"sample_id": []}))
    known = diversity.set_index("sample_id")
    ids = {
        name.removeprefix("subset_"): own["sample_id"]
        for name, own in left.items()
        if name.startswith("subset_")
    }
    if len(known):
        ids |= {"full": diversity["sample_id"], "ddsampling": taken(diversity)}
    summaries = [left[name] for name in ("ddsampling_summary", "selection_summary") if name in left]
    counted = {
        name: own for summary in summaries for name, own in summary.items() if name in ids and own["studies"]
    }
    return [
        Subset(
            name,
            int(own["samples"]),
            [arm for arm, of in arms.items() if of.get("reward") and of.get("selection", "full") == name],
            float(known.loc[ids[name], "diversity"].mean()) if len(known) else None,
            _taken(known, ids[name]) if len(known) else [],
            sum(own[label] for label in OBSERVATIONS) / own["studies"],
            {label: own[label] / own["studies"] for label in OBSERVATIONS},
        )
        for name, own in counted.items()
    ]


def _taken(known: pd.DataFrame, ids: pd.Series) -> list[float]:
    """Share of each part that a subset has."""
    least_first = known.sort_values("rank", ascending=False, kind="stable").index.isin(ids)
    return [float(part.mean()) for part in np.array_split(least_first, min(PARTS, len(known)))]


def trained(
    arms: Mapping[str, Any], training: Mapping[str, Any], histories: Mapping[str, pd.DataFrame]
) -> dict[str, Trained]:
    """How long each arm trained, its rollouts counted from the steps that its history has.

    Args:
        arms: the section `arms`.
        training: the section `training`.
        histories: by arm that trained, its curve.

    Returns:
        By arm, in the order of the section.
    """
    found = {}
    for arm, own in arms.items():
        settings = course.of_arm(training, own.get("training") or {})
        updates = int(histories[arm]["step"].max()) if arm in histories else 0
        batches = math.ceil(updates / settings["iterations"])
        found[arm] = Trained(updates, batches * settings["prompts_per_step"] * settings["rollouts"])
    return found


def written(arms: Mapping[str, pd.DataFrame], histories: Mapping[str, pd.DataFrame]) -> dict[str, Written]:
    """How diverse what each arm wrote is.

    Args:
        arms: by arm, its reports on the scored films.
        histories: by arm that trained, its curve.

    Returns:
        By arm.
    """
    found = {}
    for arm, frame in arms.items():
        counts = frame["report"].value_counts()
        course = _course(histories[arm]) if arm in histories else {}
        found[arm] = Written(len(counts) / len(frame), float(counts.max() / len(frame)), course)
    return found


def _course(history: pd.DataFrame) -> dict[str, tuple[float, float]]:
    values = {name: history[name].dropna() for name in OVER_STEPS if name in history}
    return {
        name: (float(own.head(_tenth(own)).mean()), float(own.tail(_tenth(own)).mean()))
        for name, own in values.items()
        if len(own)
    }


def _tenth(values: pd.Series) -> int:
    return max(1, len(values) // 10)
