"""Are the heavy tokens the ones that matter? DEER, table 6: mask the top tokens, read the labels again.

The post-masking F1 of that table is `radrl.algorithms.f_measure.report_f1` of the labels before against those
after.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from radrl.algorithms.checks import finite, require_choice, same_shape
from radrl.algorithms.f_measure import BoolArray, Labels, positives
from radrl.algorithms.saliency import Spans

Unit = Literal["report", "label"]


def top_tokens(
    weights: npt.ArrayLike, counted: npt.ArrayLike, *, share: float = 0.1, rng: np.random.Generator
) -> BoolArray:
    """The heaviest share of each report's tokens.

    Ties fall at random, since TF-IDF gives many tokens one weight and the first of them would be the report's
    opening words. Equal weights everywhere give the table's random row.

    Args:
        weights: w of each token, shape (..., T).
        counted: which tokens are text, same shape.
        share: of a report's counted tokens, in (0, 1]; the paper takes 0.1. The count is rounded, at least 1.
        rng: decides ties.

    Returns:
        Booleans, shape (..., T); nothing of a report without counted tokens.

    Raises:
        ValueError: when the share lies outside (0, 1], the shapes differ or a weight is not finite.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}; give a share in (0, 1]")
    heavy, text = finite(weights, "weight"), np.asarray(counted).astype(np.bool_)
    same_shape(weights=heavy, counted=text)
    total = text.sum(axis=-1, keepdims=True)  # (..., 1)
    taken = np.where(total > 0, np.maximum(1, np.rint(share * total)), 0)
    # lexsort: counted tokens first, then by weight, then by chance
    order = np.lexsort((rng.random(heavy.shape), -heavy, ~text), axis=-1)
    ranks = np.argsort(order, axis=-1)
    top: BoolArray = ranks < taken
    return top


def mask_text(text: str, spans: Spans, masked: npt.ArrayLike, *, replacement: str) -> str:
    """Put something else in the place of tokens: DEER, section 4.5, which does not say what.

    The blanks that a token begins with stay, so that words do not run together.

    Args:
        text: a report.
        spans: start and end of its T tokens in characters, in the order of the text, shape (T, 2).
        masked: which tokens are masked, shape (T,).
        replacement: what stands for each of them, such as BERT's ``[MASK]``, or nothing, which deletes it.

    Returns:
        The text without these tokens. A character that several tokens share goes with any of them.

    Raises:
        ValueError: when there is not one Boolean a token.

    Example:
        >>> mask_text("No edema.", np.array([[0, 2], [2, 8], [8, 9]]), [False, True, False], replacement="_")
        'No _.'
    """
    places, chosen = np.asarray(spans).reshape(-1, 2), np.asarray(masked).astype(np.bool_)
    if chosen.shape != places.shape[:1]:
        raise ValueError(
            f"masked has shape {chosen.shape}; give one Boolean for each of {len(places)} tokens"
        )
    kept: list[str] = []
    at = 0
    for start, end in places[chosen].tolist():
        if end <= max(start, at):  # nothing of it is left, or it stands for no text
            continue
        token = text[max(start, at) : end]
        blanks = token[: len(token) - len(token.lstrip())]
        kept += [text[at:start], blanks, replacement]
        at = end
    return "".join(kept) + text[at:]


def label_modification_ratio(
    before: Labels, after: Labels, *, unit: Unit = "report", uncertain_as_positive: bool = False
) -> float:
    """How often masking changed the diagnosis: DEER, table 6.

    The paper does not say what is counted. By report is the default: with a tenth to a third of all labels
    changed, most positive ones would be gone, and the F1 beside it could not stay above 0.8.

    Args:
        before: class indices of N reports, shape (N, C).
        after: class indices of the same reports with tokens masked, shape (N, C).
        unit: share of ``report``s with any label changed, or of single ``label``s.
        uncertain_as_positive: the reading of uncertain labels.

    Returns:
        The share, in [0, 1].

    Raises:
        ValueError: when there is no report, the shapes differ, unit is unknown or an entry is no class index.
    """
    require_choice(unit, "unit", get_args(Unit))
    first = positives(before, uncertain_as_positive=uncertain_as_positive)
    then = positives(after, uncertain_as_positive=uncertain_as_positive)
    same_shape(before=first, after=then)
    if first.ndim != 2 or first.size == 0:
        raise ValueError(f"labels have shape {first.shape}; give (N, C) with at least one report")
    changed = first != then
    return float((changed.any(axis=-1) if unit == "report" else changed).mean())
