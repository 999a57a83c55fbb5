"""Clinical efficacy: every figure of `radrl.evaluation.label_agreement`, MRG-R1's MCCS, and gold labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from radrl.algorithms.f_measure import BoolArray, Labels
from radrl.algorithms.mccs import mccs
from radrl.evaluation.label_agreement import LabelRow, label_agreement, label_rows
from radrl.evaluation.summed import SummedMetrics, join, mean_metrics, restricted
from radrl.observations import BLANK, OBSERVATIONS


@dataclass(frozen=True, slots=True)
class ClinicalEfficacy:
    """Every clinical efficacy figure of one set of reports.

    Args:
        metrics: by name.
        per_label: 14 rows with uncertain read as not positive, then 14 with it read as positive.
    """

    metrics: dict[str, float]
    per_label: list[LabelRow]


def clinical_efficacy(
    reference: Labels, hypothesis: Labels, *, labeler: str, zero_division: float = 0.0
) -> ClinicalEfficacy:
    """Score generated reports by their labels, in every averaging, label set and reading.

    Args:
        reference: class indices of the N reference reports, shape (N, 14).
        hypothesis: class indices of the N generated reports, shape (N, 14).
        labeler: name of the labeler that read both; goes into every name.
        zero_division: as in `label_agreement`.

    Returns:
        The metrics by name, and a row per label and reading.

    Raises:
        ValueError: as `label_agreement`.
    """
    summed = clinical_efficacy_sums(reference, hypothesis, labeler=labeler, zero_division=zero_division)
    return ClinicalEfficacy(summed.values(), label_rows(reference, hypothesis, zero_division=zero_division))


def clinical_efficacy_sums(
    reference: Labels, hypothesis: Labels, *, labeler: str, zero_division: float = 0.0
) -> SummedMetrics:
    """The same metrics as functions of sums over studies, for the bootstrap.

    Args:
        reference: class indices, shape (N, 14).
        hypothesis: class indices, shape (N, 14).
        labeler: name of the labeler.
        zero_division: as in `label_agreement`.

    Returns:
        The family of all metrics under both readings, and MCCS, whatever `zero_division`.

    Raises:
        ValueError: as `label_agreement`.
    """
    return join(
        label_agreement(reference, hypothesis, labeler=labeler, zero_division=zero_division),
        mean_metrics({f"ce_{labeler}_mccs": mccs(reference, hypothesis)}),
    )


GOLD: Final = "_gold"
"""What follows a labeler's name where its labels are held against gold labels."""


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    """Gold labels of N studies, some of which may have none.

    Args:
        labels: class indices, shape (N, 14); blank where unknown.
        known: which studies have labels, shape (N,).
    """

    labels: npt.NDArray[np.int8]
    known: BoolArray

    def __len__(self) -> int:
        return len(self.known)


def gold_of(rows: Iterable[Sequence[int] | Labels | None]) -> Gold | None:
    """Gather gold labels.

    Args:
        rows: of each of N studies its 14 class indices, or nothing.

    Returns:
        The labels, or nothing where no study has any.

    Raises:
        ValueError: a row has not 14 entries.
    """
    given = list(rows)
    known = np.array([row is not None for row in given], dtype=np.bool_)
    if not known.any():
        return None
    labels = np.full((len(given), len(OBSERVATIONS)), BLANK, dtype=np.int8)
    for i, row in enumerate(given):
        if row is None:
            continue
        if len(row) != len(OBSERVATIONS):
            raise ValueError(f"gold labels of study {i} have {len(row)} entries; give {len(OBSERVATIONS)}")
        labels[i] = row
    return Gold(labels, known)


def gold_labeler(labeler: str) -> str:
    """What stands in a metric's name in the labeler's place where its labels are held against gold labels."""
    return f"{labeler}{GOLD}"


def gold_efficacy_sums(gold: Gold, hypothesis: Labels, *, labeler: str) -> SummedMetrics:
    """All metrics against gold labels as functions of sums over studies.

    Args:
        gold: of N studies.
        hypothesis: class indices of their N generated reports, shape (N, 14).
        labeler: who read these.

    Returns:
        The family over the studies with gold labels, in their order.

    Raises:
        ValueError: as `radrl.evaluation.clinical_efficacy.clinical_efficacy`.
    """
    family = clinical_efficacy_sums(gold.labels, hypothesis, labeler=gold_labeler(labeler))
    return restricted(family, gold.known)


def gold_label_rows(gold: Gold, hypothesis: Labels, *, labeler: str) -> list[LabelRow]:
    """Scores of each observation over the studies with gold labels, for both readings of uncertain.

    Args:
        gold: of N studies.
        hypothesis: class indices of their N generated reports, shape (N, 14).
        labeler: who read these.

    Returns:
        14 rows with uncertain read as not positive, then 14 with it read as positive.
    """
    known = gold.known
    return clinical_efficacy(gold.labels[known], hypothesis[known], labeler=gold_labeler(labeler)).per_label
