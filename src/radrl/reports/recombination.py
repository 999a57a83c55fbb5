"""New reports made of the sentences of others, for a learner whose teacher can read any text.

What a sentence says of a finding hardly depends on its neighbours, so sentences drawn together at random are
reports with more combinations, and more rare findings, than a corpus holds.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import numpy.typing as npt

_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_LONGEST_FROM: Final = 0.8
"""Share of the texts after which they have their full length."""

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def sentences(report: str) -> list[str]:
    """Cut a report at ends of sentences and lines, runs of white space taken as one blank.

    Args:
        report: any text.

    Returns:
        Its sentences in order, none of them empty.

    Example:
        >>> sentences("No effusion. The heart is large.")
        ['No effusion.', 'The heart is large.']
    """
    cut = (" ".join(part.split()) for part in _END.split(report))
    return [sentence for sentence in cut if sentence]


def rarity_weights(labels: npt.NDArray[np.int8], counts: npt.NDArray[np.int64]) -> FloatArray:
    """How often each sentence should be drawn: frequent ones less than they occur, rare findings more.

    A sentence that occurs n times and whose rarest (observation, class) occurs m times among all sentences
    has the weight sqrt(n / m); one that mentions nothing counts as saying the most frequent thing.

    Args:
        labels: class indices of S sentences, shape (S, 14), 0 for what is not mentioned.
        counts: how often each sentence occurs, shape (S,).

    Returns:
        Probabilities, shape (S,).
    """
    classes = int(labels.max(initial=0)) + 1
    total = np.stack([((labels == said) * counts[:, np.newaxis]).sum(axis=0) for said in range(classes)])
    said_as_often = np.take_along_axis(total, labels.astype(np.int64), axis=0)  # (S, 14)
    rarest = np.where(labels == 0, counts.sum(), said_as_often).min(axis=1)
    weights = np.sqrt(counts / rarest)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def draw_texts(
    weights: FloatArray,
    count: int,
    *,
    longest: int,
    rng: np.random.Generator,
    span: tuple[float, float] = (0.0, 1.0),
) -> list[IntArray]:
    """Draw texts as rows of sentence numbers, the first ones short, so that reading comes before counting.

    Text i of n has 1 to L sentences, all lengths equally likely, where L grows from 2 to `longest` over the
    first four fifths. Of a longer course of texts, a span of it can be drawn.

    Args:
        weights: probability of each sentence, shape (S,).
        count: n.
        longest: most sentences of a text, 2 or more.
        rng: decides.
        span: where the course is with the first text, and where after the last; (1, 1) for texts of full
            length throughout.

    Returns:
        n arrays of sentence numbers, drawn with replacement.
    """
    start, end = span
    progress = np.arange(count) / (_LONGEST_FROM * max(count, 1)) * (end - start) + start / _LONGEST_FROM
    most = np.clip(np.ceil(longest * progress), 2, longest).astype(np.int64)
    lengths = rng.integers(1, most + 1)
    drawn = rng.choice(len(weights), size=int(lengths.sum()), p=weights)
    return np.split(drawn, np.cumsum(lengths)[:-1]) if count else []
