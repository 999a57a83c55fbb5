"""Precision and recall of what a report's facts say of the labels: OraPO, eq. 14 and 15 (the FactS reward).

Extracting facts (eq. 13) and testing what they entail need a model or rules and stand elsewhere; here their
outcome is compared with the reference's labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import same_shape
from radrl.algorithms.f_measure import BoolArray, FloatArray, Labels, f_beta, positives, ratio
from radrl.observations import NEGATIVE


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a report's facts do to each label, shape (..., C) each.

    Args:
        entailed: positive in the reference, and the facts say so: a true positive.
        missing: positive in the reference, and the facts do not say so: a false negative.
        unsupported: the facts say present what the reference does not.
        contradicted: the facts deny what is positive in the reference.
    """

    entailed: BoolArray
    missing: BoolArray
    unsupported: BoolArray
    contradicted: BoolArray


def fact_verdicts(reference: Labels, claimed: Labels, *, uncertain_as_positive: bool = False) -> Verdicts:
    """Compare what the facts say of each label with the reference: OraPO, eq. 14.

    Args:
        reference: class indices of the references, shape (..., C).
        claimed: class indices of what the facts entail (0 nothing, 1 present, 2 absent, 3 uncertain), same
            shape.
        uncertain_as_positive: the reading of uncertain labels.

    Returns:
        The verdicts; a denied finding is both missing and contradicted.

    Raises:
        ValueError: when the shapes differ or an entry is no class index.
    """
    truth = positives(reference, uncertain_as_positive=uncertain_as_positive)
    said = positives(claimed, uncertain_as_positive=uncertain_as_positive)
    same_shape(reference=truth, claimed=said)
    denied = np.asarray(claimed) == NEGATIVE
    return Verdicts(truth & said, truth & ~said, said & ~truth, truth & denied)


def fact_precision_recall(
    entailed: npt.ArrayLike,
    contradicted: npt.ArrayLike,
    missing: npt.ArrayLike,
    unsupported: npt.ArrayLike = False,
    *,
    contradiction_as_false_positive: bool = True,
    both_empty: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Precision and recall of each report over its labels: the P and R of OraPO, eq. 15.

    P = entailed / (entailed + unsupported + contradicted), R = entailed / (entailed + missing), of counts; an
    explicit contradiction is a false positive, as the text after eq. 14 has it. Where only one denominator
    is 0 that share is 0. Where both are, there was nothing to say and nothing was said.

    Args:
        entailed: see `Verdicts`, shape (..., C).
        contradicted: same shape.
        missing: same shape.
        unsupported: same shape; contradictions alone where it is left out.
        contradiction_as_false_positive: whether contradictions lower precision.
        both_empty: P and R of a report without anything to say that says nothing.

    Returns:
        Precision and recall, each in [0, 1], shape (...).
    """
    flags = (entailed, contradicted, missing, unsupported)
    agreed, denied, unsaid, claimed = np.broadcast_arrays(
        *(np.asarray(flag).astype(np.bool_) for flag in flags)
    )
    true = agreed.sum(axis=-1)
    wrong = (claimed | denied if contradiction_as_false_positive else claimed).sum(axis=-1)
    found, wanted = true + wrong, true + unsaid.sum(axis=-1)
    nothing = (found == 0) & (wanted == 0)
    precision = np.where(nothing, both_empty, ratio(true, found, 0.0))
    recall = np.where(nothing, both_empty, ratio(true, wanted, 0.0))
    return precision, recall


def facts_score(
    reference: Labels,
    claimed: Labels,
    *,
    beta: float = 1.5,
    xi: float = 1e-8,
    uncertain_as_positive: bool = False,
    contradiction_as_false_positive: bool = True,
    both_empty: float = 1.0,
) -> FloatArray:
    """The FactS reward from labels: OraPO, eq. 14 and 15 together.

    Args:
        reference: class indices of the references, shape (..., C).
        claimed: class indices of what the facts entail, same shape.
        beta: weight of recall, above 1 to favour it; the paper's value could not be read.
        xi: stabiliser of eq. 15.
        uncertain_as_positive: the reading of uncertain labels.
        contradiction_as_false_positive: whether contradictions lower precision.
        both_empty: precision and recall of a report without anything to say that says nothing.

    Returns:
        F-beta, in [0, 1), exactly 0 where nothing is entailed, shape (...).

    Raises:
        ValueError: when the shapes differ, an entry is no class index, or beta or xi is not above 0.
    """
    verdicts = fact_verdicts(reference, claimed, uncertain_as_positive=uncertain_as_positive)
    precision, recall = fact_precision_recall(
        verdicts.entailed,
        verdicts.contradicted,
        verdicts.missing,
        verdicts.unsupported,
        contradiction_as_false_positive=contradiction_as_false_positive,
        both_empty=both_empty,
    )
    return f_beta(precision, recall, beta=beta, xi=xi)
