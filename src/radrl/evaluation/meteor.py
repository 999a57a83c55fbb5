"""METEOR 1.5 as a function of counts that add up over studies, so that it has intervals as BLEU has.

The counts are those that its program gives for a pair and adds up for a corpus (`MeteorStats`), in their
order: lengths of generated and true text, their function words, then by stage of matching (exact, stem,
synonym, paraphrase) the content words and the function words matched, each on both sides, then chunks and
matched words.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from radrl.evaluation import FloatArray

METEOR: Final = "nlg_meteor"
"""The metric's name, and that of the comparison's group which has it alone."""
COUNTS: Final = 23
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
"""English, task `rank`, the program's own choice (Denkowski and Lavie 2014)."""
STAGE_WEIGHTS: Final = (1.0, 0.6, 0.8, 0.6)

_CHUNKS: Final = 20


def addable(counts: FloatArray) -> FloatArray:
    """Counts as the program adds them up: the one chunk of a report that is its reference does not count.

    Args:
        counts: of N pairs, shape (N, 23).

    Returns:
        The same but for chunks, shape (N, 23).
    """
    whole = (_words(counts) == counts[:, :2]).all(axis=1) & (counts[:, _CHUNKS] == 1)
    added = counts.copy()
    added[whole, _CHUNKS] = 0
    return added


def meteor_of_counts(sums: FloatArray) -> FloatArray:
    """METEOR of added counts.

    With weighted precision P and recall R (content words count `DELTA`, function words the rest, a match of a
    stage its weight): fmean = P R / (ALPHA P + (1 - ALPHA) R) times 1 - GAMMA (chunks / matches)^BETA.

    Args:
        sums: of `addable` counts, shape (..., 23).

    Returns:
        In [0, 1], 0 where nothing matches, shape (...).
    """
    sides = []
    for side in (0, 1):
        length, function = sums[..., side], sums[..., 2 + side]
        matched = np.zeros(sums.shape[:-1])
        for i, weight in enumerate(STAGE_WEIGHTS):
            content, functions = sums[..., 4 + 4 * i + side], sums[..., 6 + 4 * i + side]
            matched = matched + weight * (DELTA * content + (1 - DELTA) * functions)
        sides.append(_ratio(matched, DELTA * (length - function) + (1 - DELTA) * function))
    precision, recall = sides
    fmean = _ratio(precision * recall, (1 - ALPHA) * recall + ALPHA * precision)
    matches = _words(sums).sum(axis=-1) / 2
    return fmean * (1 - GAMMA * _ratio(sums[..., _CHUNKS], matches) ** BETA)


def _words(counts: FloatArray) -> FloatArray:
    """Words matched of the generated and of the true text, shape (..., 2)."""
    stages = counts[..., 4:_CHUNKS].reshape(*counts.shape[:-1], -1, 2, 2)
    found: FloatArray = stages.sum(axis=(-3, -2))
    return found


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below > 0)
