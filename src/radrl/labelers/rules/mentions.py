"""Where in a report the rules find what they say of it, for who wants to show it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from radrl.labelers.rules import Item, find, raw_tokens, tokens, unfolded
from radrl.labelers.rules.assertion import statements
from radrl.labelers.rules.text import sentences
from radrl.observations import UNCERTAIN


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase of a report and what its sentence says of it.

    Args:
        start: of the phrase in the report, in characters.
        end: of the phrase, exclusive.
        observations: indices into `radrl.observations.OBSERVATIONS`; No Finding's stands for other findings.
        said: positive, negative or uncertain.
    """

    start: int
    end: int
    observations: tuple[int, ...]
    said: int


def mentions(report: str, *, alternatives: int = UNCERTAIN) -> list[Mention]:
    """The phrases of a report that the rules read, left to right.

    Args:
        report: raw or cleaned text.
        alternatives: class of the two sides of an "or" that nothing else hedges.

    Returns:
        Mentions; none of a sentence that cannot be found again in the text as it is spelled, such as one
        whose letters were normalised.

    Example:
        >>> [(m.start, m.end) for m in mentions("Mild edema. No effusion.")]
        [(5, 10), (15, 23)]
    """
    lower = report.lower()
    if len(lower) != len(report):
        return []
    spelled = [token for token in raw_tokens(lower) if token.group().isalnum()]
    found: list[Mention] = []
    at = 0
    for sentence in sentences(report):
        words = unfolded(sentence)
        begin = _sought(spelled, [word for word in words if word.isalnum()], at)
        if begin is not None:
            own = _placed(words, spelled, begin)
            found += _mentions(sentence, own, alternatives)
            at = begin + sum(word.isalnum() for word in words)
    return found


def _sought(spelled: Sequence[re.Match[str]], words: Sequence[str], at: int) -> int | None:
    """The first place from `at` on where the words stand one behind the other."""
    texts = [token.group() for token in spelled]
    places = range(at, len(texts) - len(words) + 1)
    return next((place for place in places if texts[place : place + len(words)] == list(words)), None)


def _placed(words: Sequence[str], spelled: Sequence[re.Match[str]], begin: int) -> list[tuple[int, int]]:
    """Characters of each token of a sentence; a mark between words has those of the word before it."""
    places: list[tuple[int, int]] = []
    for word in words:
        if word.isalnum():
            places.append(spelled[begin].span())
            begin += 1
        else:
            places.append(places[-1] if places else (0, 0))
    return places


def _mentions(sentence: str, places: Sequence[tuple[int, int]], alternatives: int) -> Iterator[Mention]:
    items: list[Item] = find(tokens(sentence))
    for statement in statements(items, alternatives):
        own = [items[i] for i in {statement.item, statement.size} if i is not None]
        start = min(places[item.start][0] for item in own)
        end = max(places[item.end - 1][1] for item in own)
        yield Mention(start, end, items[statement.item].entry.observations, statement.said)
