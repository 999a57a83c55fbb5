"""Frontal or lateral: one vocabulary for the words that sources use for a film's view."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

VIEWS: Final = ("frontal", "lateral", "unknown")

WORDS: Final[Mapping[str, str]] = {
    "frontal": "frontal",
    "pa": "frontal",
    "ap": "frontal",
    "pa erect": "frontal",
    "ap erect": "frontal",
    "ap supine": "frontal",
    "ap portable": "frontal",
    "posteroanterior": "frontal",
    "postero anterior": "frontal",
    "anteroposterior": "frontal",
    "antero posterior": "frontal",
    "lateral": "lateral",
    "lat": "lateral",
    "l": "lateral",
    "ll": "lateral",
    "rl": "lateral",
    "left lateral": "lateral",
    "right lateral": "lateral",
}
"""View words of the public chest film sets. Obliques and decubitus films are neither, so not listed."""


def table(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Join a source's own view words to the default ones.

    Args:
        extra: view word to `frontal`, `lateral` or `unknown`; wins over `WORDS`.

    Returns:
        Normalised word to view.

    Raises:
        ValueError: a word leads to something that is no view.
    """
    words = dict(WORDS)
    for word, view in (extra or {}).items():
        if view not in VIEWS:
            raise ValueError(f"view word {word!r} leads to {view!r}; valid: {', '.join(VIEWS)}")
        words[normalise(word)] = view
    return words


def normalise(word: str) -> str:
    """Fold case and punctuation: `AP-Supine`, `ap_supine` and `AP  Supine` are one word."""
    return " ".join(re.split(r"[\W_]+", word.casefold())).strip()
