"""The trie of all phrases, and the search of a sentence for them.

A phrase is a row of slots: ``a|b`` are alternatives, ``?`` at a slot's end makes the whole slot optional.
Phrases are matched on folded tokens (`radrl.labelers.rules.words`), the longest first, left to right, so a
longer phrase shadows the words inside it ("pericardial effusion" is no effusion, "not excluded" is no
denial).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from radrl.labelers.rules import findings
from radrl.labelers.rules.cues import CUES
from radrl.labelers.rules.items import Entry, Item, Kind
from radrl.labelers.rules.words import fold
from radrl.observations import INDEX


class Node:
    """A place in the trie: what ends here, and where the next token leads."""

    __slots__ = ("entry", "next")

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self.next: dict[str, Node] = {}


def _slots(phrase: str) -> list[list[str]]:
    """The alternatives of each slot of a phrase, the empty string standing for an optional slot left out."""
    slots = []
    for slot in phrase.split():
        optional = slot.endswith("?") and slot != "?" and not slot.endswith("|?")
        words = (slot[:-1] if optional else slot).split("|")
        slots.append([*words, ""] if optional else words)
    return slots


def spelled(phrases: str) -> list[str]:
    """Every way of writing phrases (one a line), as they would stand in a report."""
    return [" ".join(row) for phrase in phrases.splitlines() for row in _expansions(phrase)]


def _expansions(phrase: str) -> Iterator[list[str]]:
    """Every row of words that a phrase stands for."""
    for words in itertools.product(*_slots(phrase)):
        row = [word for word in words if word]
        if row:
            yield row


def _add(trie: Node, phrases: str, entry: Entry) -> None:
    """Enter phrases (one a line) into a trie; the first entry of a phrase stays."""
    for phrase in filter(str.strip, phrases.splitlines()):
        for row in _expansions(phrase):
            node = trie
            for word in map(fold, row):
                node = node.next.setdefault(word, Node())
            if node.entry is None:
                node.entry = entry


def build() -> Node:
    """The trie of all phrases. Earlier tables win over later ones where a phrase stands in several."""
    trie = Node()
    heart, edema, effusion = INDEX["Cardiomegaly"], INDEX["Edema"], INDEX["Pleural Effusion"]
    _add(trie, findings.SHADOWED, Entry(Kind.IGNORED))
    _add(trie, findings.HEART_FAILURE, Entry(Kind.MENTION, (edema,), implied=(heart,)))
    _add(trie, findings.BORDERLINE_HEART, Entry(Kind.MENTION, (heart,), weak=True))
    _add(trie, findings.FISSURE_FLUID, Entry(Kind.MENTION, (effusion,)))
    _add(trie, findings.CONGESTION, Entry(Kind.MENTION, (edema,), weak=True))
    for names, phrases in findings.ORGANS.items():
        _add(trie, phrases, Entry(Kind.ORGAN, tuple(INDEX[name] for name in names)))
    for names, phrases in findings.FINDINGS.items():
        _add(trie, phrases, Entry(Kind.MENTION, tuple(INDEX[name] for name in names)))
    for kind, phrases in CUES.items():
        _add(trie, phrases, Entry(kind))
    return trie


TRIE: Final = build()


def find(words: list[str]) -> list[Item]:
    """The lexicon's phrases in a sentence, the longest at each place, left to right, never overlapping.

    Args:
        words: folded tokens (`radrl.labelers.rules.words.tokens`).

    Returns:
        Items in the order of the sentence.
    """
    items, at = [], 0
    while at < len(words):
        end = at
        if words[at] in TRIE.next:  # most words begin no phrase
            entry, end = _longest(words, at)
            if entry is not None:
                items.append(Item(entry, at, end))
        at = max(end, at + 1)
    return items


def _longest(words: list[str], start: int) -> tuple[Entry | None, int]:
    """The longest phrase that begins at a token, and where it ends."""
    node: Node | None = TRIE
    entry, end = None, start
    for at in range(start, len(words)):
        node = node.next.get(words[at]) if node else None
        if node is None:
            break
        if node.entry is not None:
            entry, end = node.entry, at + 1
    return entry, end
