"""What the stage compare starts from: the arms' tables over the same films, subsets, and settings."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from radrl.observations import OBSERVATIONS
from radrl.selections.ddsampling import taken

if TYPE_CHECKING:
    from radrl.pipelines.compare.rows import System
    from radrl.pipelines.compare.training import TrainingLength
    from radrl.training.watching.diagnosis import Finding
    from radrl.training.watching.levelling import Levelling


ArmTables = dict[str, pd.DataFrame]
"""A table by arm."""


class OtherFilms(ValueError):
    """Tables of reports are of other films, or hold other references for them."""


def gather_reports(**per_report: pd.DataFrame) -> ArmTables:
    """Put the arms' reports side by side, in the same order of films.

    Args:
        per_report: by arm, its reports with labels and scores.

    Returns:
        The same, each in the order of the first arm's films.

    Raises:
        OtherFilms: when an arm has other films or other references than the first one, naming a film.
        ValueError: when an arm has a film twice.
    """
    first, base = next(iter(per_report.items()))
    together: ArmTables = {}
    for arm, frame in per_report.items():
        _require_same_films(first, base["sample_id"], arm, frame["sample_id"])
        ordered = frame.set_index("sample_id").loc[base["sample_id"]].reset_index()
        changed = ordered["reference"] != base["reference"].reset_index(drop=True)
        if changed.any():
            film = ordered.loc[changed, "sample_id"].iloc[0]
            raise OtherFilms(
                f"arms {first!r} and {arm!r} have other references for film {film}; run eval again for both"
            )
        together[arm] = ordered
    return together


def gather_of_trained(**tables: pd.DataFrame) -> ArmTables:
    """What the arms that trained have left: their curves, or the rollouts to look at.

    Args:
        tables: by arm; without rows where the arm did not train.

    Returns:
        Those with rows.
    """
    return {arm: table for arm, table in tables.items() if len(table)}


def films_digest(films: pd.DataFrame) -> str:
    """A digest of what was scored: ids, patients and references of the films, in the order of ids.

    Args:
        films: any arm's reports.

    Returns:
        Twelve hexadecimal digits of SHA-256.
    """
    columns = ["sample_id", "patient_id", "reference"]
    digest = hashlib.sha256()
    for row in films[columns].sort_values("sample_id").itertuples(index=False):
        digest.update("\x1f".join(map(str, row)).encode() + b"\x1e")
    return digest.hexdigest()[:12]


def _require_same_films(first: str, known: pd.Series, arm: str, films: pd.Series) -> None:
    if not films.is_unique:
        raise ValueError(
            f"arm {arm!r} has film {films[films.duplicated()].iloc[0]} twice; run generate again for it"
        )
    lacking, extra = sorted({*known} - {*films}), sorted({*films} - {*known})
    if lacking or extra:
        raise OtherFilms(
            f"arms {first!r} and {arm!r} were scored on other films: {arm!r} lacks {len(lacking)} "
            f"and has {len(extra)} more, such as {(lacking or extra)[0]}; run generate and eval for both"
        )


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonSettings:
    """What the arms are compared by.

    Args:
        compare: the section `compare`.
        eval: the section `eval`.
        labeler: the section `labeler`.
        arms: the section `arms`.
        seed: of the resamples, of the drawn reports and of the films that are shown.
        device: where a CheXbert computes.
    """

    compare: dict[str, Any]
    eval: dict[str, Any]
    labeler: dict[str, Any]
    arms: dict[str, Any]
    seed: int
    device: str

    @property
    def reference(self) -> str:
        """The arm that the others are tested against."""
        return str(self.compare["reference"])

    @property
    def groups(self) -> dict[str, list[str]]:
        """The metrics of the table by who gives them, of `radrl.scoring.names.group_names`."""
        from radrl.scoring.names import group_names

        return group_names(self.compare["metrics"], self.eval)

    @property
    def printed(self) -> dict[str, Any]:
        """The parameters that the page prints."""
        sections = {"labeler": self.labeler, "eval": self.eval, "compare": self.compare, "arms": self.arms}
        return {"seed": self.seed, "device": self.device} | sections


@dataclass(frozen=True, slots=True, eq=False)
class PageContext:
    """What the page tells beside the arms' own results.

    Args:
        published: the papers' results, a line a method and metric.
        over_seeds: what several seeds gave, of `radrl.pipelines.compare.summary.shipped_over_seeds`.
        ingest_summary: counts of the stage ingest.
        labeler_report: how far the labeler agrees with what is known, of the stage labeler.
        systems: other systems' scores by row, of `radrl.pipelines.compare.rows`.
        selected_films: which training films the selections took.
        trained: how long each arm trained.
    """

    published: pd.DataFrame
    over_seeds: Sequence[Mapping[Hashable, Any]]
    ingest_summary: Mapping[str, Any]
    labeler_report: Mapping[str, Any]
    systems: Mapping[str, System]
    selected_films: Sequence[Subset]
    trained: Mapping[str, TrainingLength]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What one arm's history says.

    Args:
        findings: gravest first.
        levelling: the end of its curve.
    """

    findings: Sequence[Finding]
    levelling: Levelling


def diagnose_histories(arm_histories: ArmTables, arms: Mapping[str, Any]) -> dict[str, Diagnosis]:
    """Read the histories.

    Args:
        arm_histories: of `radrl.pipelines.compare.inputs.gather_of_trained`.
        arms: the section `arms`, so that nobody is told to do what an arm does.

    Returns:
        By arm that trained.
    """
    from radrl.training.watching.diagnosis import diagnose
    from radrl.training.watching.levelling import levelling

    rows = {arm: history.to_dict("records") for arm, history in arm_histories.items()}
    return {arm: Diagnosis(diagnose(own, arms.get(arm)), levelling(own)) for arm, own in rows.items()}


DIVERSITY_PARTS: Final = 10
"""Parts of equal size into which the training films are put by their diversity."""


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset of the training films.

    Args:
        name: as an arm's `selection` has it.
        films: how many.
        arms: that trained on it.
        diversity: mean over its films (DEER eq. 3); nothing where no rollouts were scored.
        taken: share of each of `DIVERSITY_PARTS` parts of the films that it has, the least diverse first.
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


SELECTION_DATASETS: Final = {
    ("ddsampling", "most_diverse"): ("ddsampling_summary", "diversity", "subset_most_diverse"),
    ("full", "random", "balanced"): ("selection_summary", "subset_full", "subset_random", "subset_balanced"),
}
"""By the subsets that a stage draws, its datasets that are looked at."""


def selection_datasets(arms: Mapping[str, Any], trained: Collection[str]) -> list[str]:
    """The datasets of the stages that the films of some arm come from.

    Args:
        arms: the section `arms`.
        trained: names of those that trained.

    Returns:
        Names; a stage that no arm waited for may not have run, or run at any time, and has none here.
    """
    used = {arms[arm].get("selection", "full") for arm in trained if arm in arms}
    return [name for drawn, names in SELECTION_DATASETS.items() if used & {*drawn} for name in names]


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
    return [float(part.mean()) for part in np.array_split(least_first, min(DIVERSITY_PARTS, len(known)))]
