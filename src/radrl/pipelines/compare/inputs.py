"""What the nodes of the stage compare start from: the arms' tables over the same films, and settings."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from radrl.pipelines.compare.rows import System
    from radrl.pipelines.compare.training import Subset, TrainingLength
    from radrl.training.watching.diagnosis import Finding
    from radrl.training.watching.levelling import Levelling


ArmTables = dict[str, pd.DataFrame]
"""A table by arm."""


def gather_reports(**per_report: pd.DataFrame) -> ArmTables:
    """Put the arms' reports side by side, in the same order of films.

    Args:
        per_report: by arm, its reports with labels and scores.

    Returns:
        The same, each in the order of the first arm's films.

    Raises:
        ValueError: when an arm has other films or other references than the first one, naming a film.
    """
    first, base = next(iter(per_report.items()))
    together: ArmTables = {}
    for arm, frame in per_report.items():
        _require_same_films(first, base["sample_id"], arm, frame["sample_id"])
        ordered = frame.set_index("sample_id").loc[base["sample_id"]].reset_index()
        changed = ordered["reference"] != base["reference"].reset_index(drop=True)
        if changed.any():
            film = ordered.loc[changed, "sample_id"].iloc[0]
            raise ValueError(
                f"arms {first!r} and {arm!r} have other references for film {film}; run eval again for both"
            )
        together[arm] = ordered
    return together


def gather_histories(**histories: pd.DataFrame) -> ArmTables:
    """The training curves of the arms that trained.

    Args:
        histories: by arm, its curve; without rows where the arm did not train.

    Returns:
        Those with rows.
    """
    return {arm: history for arm, history in histories.items() if len(history)}


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
        raise ValueError(
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
        arm_histories: of `radrl.pipelines.compare.inputs.gather_histories`.
        arms: the section `arms`, so that nobody is told to do what an arm does.

    Returns:
        By arm that trained.
    """
    from radrl.training.watching.diagnosis import diagnose
    from radrl.training.watching.levelling import levelling

    rows = {arm: history.to_dict("records") for arm, history in arm_histories.items()}
    return {arm: Diagnosis(diagnose(own, arms.get(arm)), levelling(own)) for arm, own in rows.items()}
