"""Scorers by rules: a report read into findings, its graph in RadGraph's schema, GREEN's error counts.

Here, which organs a sentence names for where something else lies ("opacity over the heart").
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

PREPOSITIONS: Final = frozenset({
    "in", "at", "of", "within", "over", "overlying", "along", "near", "throughout", "on", "to", "from", "by",
    "into", "above", "below", "under",
})  # fmt: skip
_BETWEEN: Final = frozenset({
    "the", "both", "left", "right", "bilateral", "visualized", "upper", "mid", "middle", "lower", "anterior",
    "posterior", "lateral", "medial",
})  # fmt: skip
"""Words between a preposition and an organ."""


def is_place(words: Sequence[str], start: int, prepositions: Collection[str] = PREPOSITIONS) -> bool:
    """Whether an organ is the place of something else.

    Args:
        words: of the sentence.
        start: the organ's first.
        prepositions: words that make a place of an organ behind them.

    Example:
        >>> is_place("opacity over the left hemidiaphragm".split(), 4)
        True
    """
    before = start - 1
    while before >= 0 and words[before] in _BETWEEN:
        before -= 1
    return before >= 0 and words[before] in prepositions
