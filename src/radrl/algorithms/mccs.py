"""Margin CheXbert Cosine Similarity of two reports' labels: MRG-R1, eq. 3 to 6."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite, same_shape
from radrl.algorithms.f_measure import BoolArray, FloatArray, Labels, positives
from radrl.observations import NEGATIVE, NO_FINDING, OBSERVATIONS


def signed_vectors(labels: Labels) -> FloatArray:
    """Labels as signs: MRG-R1, eq. 3 and 4; No Finding is left out.

    Positive and uncertain are 1, negative -1, blank 0: a hedge counts as raising the finding.

    Args:
        labels: class indices, shape (..., 14).

    Returns:
        z, shape (..., 13).

    Raises:
        ValueError: when there are not 14 labels or an entry is no class index.
    """
    raised = positives(labels, uncertain_as_positive=True)
    if raised.shape[-1:] != (len(OBSERVATIONS),):
        raise ValueError(f"labels have shape {raised.shape}; give (..., {len(OBSERVATIONS)})")
    signs = raised.astype(np.float64) - (np.asarray(labels) == NEGATIVE)
    vectors: FloatArray = np.delete(signs, NO_FINDING, axis=-1)
    return vectors


def chexbert_cosine(first: npt.ArrayLike, second: npt.ArrayLike, *, eps: float = 1e-8) -> FloatArray:
    """Cosine of signed vectors: MRG-R1, eq. 5, <z, z*> / ((|z| + eps) (|z*| + eps)).

    Args:
        first: z, shape (..., 13).
        second: z*, same shape.
        eps: added to each norm, above 0; a blank vector gives 0 through it.

    Returns:
        Cosines, in (-1, 1), shape (...).

    Raises:
        ValueError: when the shapes differ, a number is not finite or eps is not above 0.
    """
    if not 0 < eps < np.inf:
        raise ValueError(f"eps is {eps}; it must be above 0")
    one, other = finite(first, "first"), finite(second, "second")
    same_shape(first=one, second=other)
    product = (np.linalg.norm(one, axis=-1) + eps) * (np.linalg.norm(other, axis=-1) + eps)
    cosine: FloatArray = (one * other).sum(axis=-1) / product
    return cosine


def rescale_by_margin(cosine: npt.ArrayLike, *, margin: float = 0.0) -> FloatArray:
    """Cut similarities off at a margin: MRG-R1, eq. 6, max((CCS - m) / (1 - m), 0).

    Args:
        cosine: similarities in [-1, 1], any shape.
        margin: m, in (-1, 1); the paper does not print it. Below 0, two blank vectors earn -m / (1 - m).

    Returns:
        Rewards in [0, 1], same shape.

    Raises:
        ValueError: when the margin lies outside (-1, 1) or a similarity is not finite.
    """
    if not -1 < margin < 1:
        raise ValueError(f"margin is {margin}; give a number between -1 and 1")
    # the upper bound is for a cosine that rounding took past 1
    reward: FloatArray = np.clip((finite(cosine, "cosine") - margin) / (1.0 - margin), 0.0, 1.0)
    return reward


def mccs(reference: Labels, hypothesis: Labels, *, margin: float = 0.0, eps: float = 1e-8) -> FloatArray:
    """MCCS of pairs of reports from their labels: MRG-R1, eq. 3 to 6.

    Args:
        reference: class indices of the references, shape (..., 14).
        hypothesis: class indices of the generated reports, same shape.
        margin: m of eq. 6.
        eps: of eq. 5.

    Returns:
        Rewards in [0, 1], the same when the two are swapped, shape (...).

    Raises:
        ValueError: when shapes do not fit, an entry is no class index, or margin or eps is out of range.
    """
    cosine = chexbert_cosine(signed_vectors(reference), signed_vectors(hypothesis), eps=eps)
    return rescale_by_margin(cosine, margin=margin)


def both_blank(reference: Labels, hypothesis: Labels) -> BoolArray:
    """Pairs in which neither report says anything of the 13 findings, so that eq. 5 has nothing to compare.

    At m = 0 they earn 0 although they agree: groups of terse normal reports have no variance. The mean of the
    result is their share.

    Args:
        reference: class indices of the references, shape (..., 14).
        hypothesis: class indices of the generated reports, same shape.

    Returns:
        Booleans, shape (...).

    Raises:
        ValueError: when shapes do not fit or an entry is no class index.
    """
    one, other = signed_vectors(reference), signed_vectors(hypothesis)
    same_shape(reference=one, hypothesis=other)
    blank: BoolArray = np.asarray(~(one.any(axis=-1) | other.any(axis=-1)))
    return blank
