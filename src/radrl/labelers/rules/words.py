"""Tokens of a sentence: words without plural endings, and the marks between them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_TOKEN: Final = re.compile(r"[a-z0-9]+|[,:/?()]")

_IRREGULAR: Final = {
    "pneumothoraces": "pneumothorax",
    "pneumothoraxes": "pneumothorax",
    "hydropneumothoraces": "hydropneumothorax",
    "hemopneumothoraces": "hemopneumothorax",
    "haemopneumothoraces": "haemopneumothorax",
    "hemothoraces": "hemothorax",
    "haemothoraces": "haemothorax",
    "atelectases": "atelectasis",
    "metastases": "metastasis",
    "diagnoses": "diagnosis",
    "masses": "mass",
    "foci": "focus",
    "bullae": "bulla",
    "apices": "apex",
}


def tokens(sentence: str) -> list[str]:
    """Folded tokens of a lower-case sentence: words without plural endings, and the marks between them."""
    return [fold(word) for word in _TOKEN.findall(sentence)]


def raw_tokens(sentence: str) -> list[re.Match[str]]:
    """The tokens of a lower-case sentence as they are spelled, with their places."""
    return list(_TOKEN.finditer(sentence))


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """Take the plural (or third person) ending off a word, the same way for lexicon and report."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
