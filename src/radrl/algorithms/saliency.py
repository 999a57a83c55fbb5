"""Token weights from the labeler's gradients: DEER, eq. 12 and the alignment before it (DiTPO's gradient).

Eq. 9 to 11, the saliency s_j of each of the labeler's tokens, need its weights and stand in
`radrl.labelers.chexbert.saliency`; which labels eq. 9 sums over is said here. Saliencies are carried
over to the policy's tokens through the characters both tokenisers cover: a token takes the highest saliency
of the labeler's tokens it shares a character with.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite, require_choice
from radrl.algorithms.f_measure import BoolArray, FloatArray, Labels, positives
from radrl.observations import NO_FINDING, OBSERVATIONS

Spans = npt.NDArray[np.integer[Any]]
"""Start and end of tokens in characters of one text, the end left out, shape (T, 2); empty where a token
stands for no text, as padding and special tokens do."""

Normalise = Literal["none", "max", "mean"]


def target_labels(
    reference: Labels, *, uncertain_as_positive: bool = False, no_finding: bool = True
) -> BoolArray:
    """The set T that eq. 9 of DEER sums logits over: the labels positive in the reference.

    The paper speaks of positive diseases and of 14 of them, so it stays open whether No Finding is one.

    Args:
        reference: class indices of N reference reports, shape (N, 14).
        uncertain_as_positive: the reading of uncertain labels.
        no_finding: whether T may hold No Finding; without it every normal reference gives w = 1.

    Returns:
        Booleans, shape (N, 14).

    Raises:
        ValueError: when there are not 14 labels or an entry is no class index.
    """
    chosen = positives(reference, uncertain_as_positive=uncertain_as_positive)
    if chosen.shape[-1:] != (len(OBSERVATIONS),):
        raise ValueError(f"labels have shape {chosen.shape}; give (..., {len(OBSERVATIONS)})")
    if not no_finding:
        chosen[..., NO_FINDING] = False
    return chosen


def align_saliency(labeler_spans: Spans, saliency: npt.ArrayLike, policy_spans: Spans) -> FloatArray:
    """The highest saliency among the labeler's tokens that each of the policy's tokens overlaps.

    Args:
        labeler_spans: spans of the labeler's tokens, shape (J, 2).
        saliency: s_j, not negative, shape (J,).
        policy_spans: spans of the policy's tokens in the same text, shape (T, 2). A labeler that read only a
            part of it (the text inside <report>) needs that part's start added to its spans.

    Returns:
        The aligned saliency of eq. 12, 0 where nothing overlaps, shape (T,).

    Raises:
        ValueError: when spans are no spans, the counts differ, or a saliency is negative or not finite.
    """
    source, target = _spans(labeler_spans, "labeler_spans"), _spans(policy_spans, "policy_spans")
    scores = _scores(saliency)
    if len(scores) != len(source):
        raise ValueError(f"{len(source)} labeler_spans but {len(scores)} saliencies; give one a token")
    characters = int(max(source.max(initial=0), target.max(initial=0)))
    by_character = np.zeros(characters + 1)  # one more, so that every end is an index
    length = source[:, 1] - source[:, 0]
    first = np.repeat(source[:, 0] - (np.cumsum(length) - length), length)
    np.maximum.at(by_character, first + np.arange(length.sum()), np.repeat(scores, length))
    aligned = np.zeros(len(target))
    some = target[:, 0] < target[:, 1]
    if some.any():
        aligned[some] = np.maximum.reduceat(by_character, target[some].ravel())[::2]
    return aligned


def gradient_weights(
    labeler_spans: Spans,
    saliency: npt.ArrayLike,
    policy_spans: Spans,
    *,
    beta: float = 1.0,
    normalise: Normalise = "none",
) -> FloatArray:
    """Weights of the policy's tokens: DEER, eq. 12, w = 1 + beta s.

    The paper does not normalise. A labeler other than CheXbert has gradients of another size, so saliencies
    may be divided by their ``max`` or ``mean`` over the labeler's tokens of this report first; neither
    depends on how the policy cuts the text. A reference without a positive label has no saliency anywhere,
    and w = 1.

    Args:
        labeler_spans: spans of the labeler's tokens, shape (J, 2).
        saliency: s_j, not negative, shape (J,).
        policy_spans: spans of the policy's tokens in the same text, shape (T, 2).
        beta: strength, not negative.
        normalise: what saliencies are divided by.

    Returns:
        Weights, at least 1, and 1 for tokens without text, shape (T,).

    Raises:
        ValueError: when beta is negative, normalise unknown, or spans and saliencies do not fit.
    """
    if not 0 <= beta < np.inf:
        raise ValueError(f"beta is {beta}; give a strength of at least 0")
    require_choice(normalise, "normalise", get_args(Normalise))
    scores = _scores(saliency)
    if normalise != "none" and scores.any():
        scores = scores / scores.max()  # first, so that no mean overflows or vanishes
        if normalise == "mean":
            scores = scores / scores.mean()
    weights: FloatArray = 1.0 + beta * align_saliency(labeler_spans, scores, policy_spans)
    return weights


def _spans(spans: Spans, name: str) -> npt.NDArray[np.int64]:
    array = np.asarray(spans)
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} are {array.dtype} {array.shape}; give integers (T, 2), start and end")
    bad = np.flatnonzero((array[:, 0] < 0) | (array[:, 1] < array[:, 0]))
    if bad.size:
        raise ValueError(f"{name} has {array[bad[0]].tolist()} at token {bad[0]}; give 0 <= start <= end")
    return array.astype(np.int64)


def _scores(saliency: npt.ArrayLike) -> FloatArray:
    scores = finite(saliency, "saliency")
    if scores.ndim != 1 or np.any(scores < 0):
        raise ValueError("saliencies are norms: give numbers of at least 0, one a token")
    return scores
