"""What the nodes of the stage compare hand on together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from radrl.pipelines.compare.systems import System
    from radrl.pipelines.compare.training_data import Subset, Trained


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
class Beside:
    """What the page tells beside the arms' own results.

    Args:
        published: the papers' results, a line a method and metric.
        over_seeds: what several seeds gave, of `radrl.pipelines.compare.seeds.of_shipped`.
        ingest_summary: counts of the stage ingest.
        labeler_report: how far the labeler agrees with what is known, of the stage labeler.
        systems: other systems' scores by row, of `radrl.pipelines.compare.systems`.
        chosen: which training films the selections took.
        trained: how long each arm trained.
    """

    published: pd.DataFrame
    over_seeds: Sequence[Mapping[Hashable, Any]]
    ingest_summary: Mapping[str, Any]
    labeler_report: Mapping[str, Any]
    systems: Mapping[str, System]
    chosen: Sequence[Subset]
    trained: Mapping[str, Trained]
