"""Clinical efficacy: every figure of `radrl.evaluation.label_agreement`, and MRG-R1's MCCS.

``ce_{labeler}_mccs`` is the mean over reports of MRG-R1's reward (eq. 3 to 6) at margin 0, which reads
denials and doubts too; it has no averaging and no label set of its own (13 signed labels).
"""

from __future__ import annotations

from dataclasses import dataclass

from radrl.algorithms.f_measure import Labels
from radrl.algorithms.mccs import mccs
from radrl.evaluation.label_agreement import LabelRow, label_agreement, label_rows
from radrl.evaluation.summed import SummedMetrics, join, mean_metrics


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
