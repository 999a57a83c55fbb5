"""What a study sets side by side: its metrics, its rows, and the row that the others are tested against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from radrl.params.schema import Params
from radrl.studies.claims.stated import BEST, WITHOUT_MODEL


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
