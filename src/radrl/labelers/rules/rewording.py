"""Sentences with other phrases in the places of their findings and cues: more than any corpus says.

The rules know thousands of phrases, most of which a corpus holds seldom or never. Put into the places of
phrases of the same kind they give sentences that read like its own, and that the rules can label. A learner
of the rules' labels needs them; whether a sentence makes medical sense does not matter to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np

from radrl.labelers.rules import findings
from radrl.labelers.rules.cues import CUES
from radrl.labelers.rules.items import Item, Kind
from radrl.labelers.rules.lexicon import find, spelled
from radrl.labelers.rules.text import fold, raw_tokens

_SWAPPED: Final[dict[Kind, float]] = {Kind.MENTION: 0.7, Kind.ORGAN: 0.5} | dict.fromkeys(
    (
        Kind.DENY,
        Kind.DENY_BACK,
        Kind.HEDGE,
        Kind.HEDGE_LIST,
        Kind.HEDGE_BACK,
        Kind.OPEN,
        Kind.OPEN_BACK,
        Kind.NORMAL,
        Kind.ENLARGED,
        Kind.BORDERLINE,
    ),
    0.3,
)
"""How likely a phrase of each kind is exchanged."""


def reword(sentences: Sequence[str], *, rng: np.random.Generator) -> list[str]:
    """Exchange phrases for others of their kind: a finding for any finding, a denial for any denial.

    Args:
        sentences: lower-case sentences.
        rng: decides which phrases, and for what.

    Returns:
        The sentences that changed, each once, in order.
    """
    changed = (_reworded(sentence, rng) for sentence in sentences)
    return list(dict.fromkeys(new for new, old in zip(changed, sentences, strict=True) if new != old))


def _reworded(sentence: str, rng: np.random.Generator) -> str:
    words = raw_tokens(sentence)
    out, at = [], 0
    for item in find([fold(word.group()) for word in words]):
        if rng.random() < _SWAPPED.get(item.kind, 0.0):
            out.append(sentence[at : words[item.start].start()] + _phrase(item, rng))
            at = words[item.end - 1].end()
    return "".join(out) + sentence[at:]


def _phrase(item: Item, rng: np.random.Generator) -> str:
    """A phrase of the item's kind: first a group, such as an observation, then one of its phrases."""
    groups = _groups(item.kind)
    group = groups[rng.integers(len(groups))]
    return group[rng.integers(len(group))]


@cache
def _groups(kind: Kind) -> list[list[str]]:
    if kind is Kind.MENTION:
        observed = [text for names, text in findings.FINDINGS.items() if names != ("No Finding",)]
        tables = [*observed, findings.CONGESTION, findings.HEART_FAILURE, findings.BORDERLINE_HEART]
    elif kind is Kind.ORGAN:
        tables = list(findings.ORGANS.values())
    else:
        tables = CUES[kind].splitlines()
    return [phrases for phrases in map(spelled, tables) if phrases]
