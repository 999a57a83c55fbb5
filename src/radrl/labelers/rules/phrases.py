"""Phrases of a lexicon: how its tables write them, and which of them stand in a sentence.

A phrase is a row of slots: ``a|b`` are alternatives, ``?`` at a slot's end makes the whole slot optional.
The longest is found at each place, left to right, so a longer phrase shadows the words inside it
("pericardial effusion" is no effusion, "not excluded" is no denial).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Words = tuple[str, ...]


def spelled(phrases: str, fold: Callable[[str], str] = str) -> Iterator[Words]:
    """Every way of writing the phrases of a table.

    Args:
        phrases: one a line; blank lines are none.
        fold: applied to every word.

    Yields:
        The words of each, in the order of the table.

    Example:
        >>> [*spelled("big? heart|cardiac size")]
        [('big', 'heart', 'size'), ('big', 'cardiac', 'size'), ('heart', 'size'), ('cardiac', 'size')]
    """
    for phrase in phrases.splitlines():
        for words in itertools.product(*map(_alternatives, phrase.split())):
            if row := tuple(fold(word) for word in words if word):
                yield row


def _alternatives(slot: str) -> list[str]:
    """The words of a slot, the empty one standing for an optional slot left out."""
    optional = slot.endswith("?") and slot != "?" and not slot.endswith("|?")
    words = (slot[:-1] if optional else slot).split("|")
    return [*words, ""] if optional else words


def entries(tables: Iterable[tuple[T, str]], fold: Callable[[str], str] = str) -> Iterator[tuple[Words, T]]:
    """The phrases of tables with what they stand for.

    Args:
        tables: (meaning, phrases as `spelled` takes them), such as the items of a table by meaning.
        fold: applied to every word.

    Yields:
        (words of a phrase, its meaning), in the order of the tables.

    Example:
        >>> [*entries({"base": "lung|lower base"}.items())]
        [(('lung', 'base'), 'base'), (('lower', 'base'), 'base')]
    """
    for meaning, phrases in tables:
        for words in spelled(phrases, fold):
            yield words, meaning


class Phrases(Generic[T]):
    """A trie of phrases, which finds the longest at each place of a sentence.

    Args:
        meanings: (words of a phrase, its meaning), as of `entries`; no meaning is None, and of equal
            phrases the first stays.

    Example:
        >>> phrases = Phrases([(("effusion",), "effusion"), (("pericardial", "effusion"), "other")])
        >>> phrases.find("effusion and pericardial effusion".split())
        [('effusion', 0, 1), ('other', 2, 4)]
    """

    __slots__ = ("_root",)

    def __init__(self, meanings: Iterable[tuple[Words, T]]) -> None:
        # By word the next node; under None the meaning of what ends there.
        self._root: dict[Any, Any] = {}
        for words, meaning in meanings:
            node = self._root
            for word in words:
                node = node.setdefault(word, {})
            node.setdefault(None, meaning)

    def find(self, words: Sequence[str]) -> list[tuple[T, int, int]]:
        """The phrases in a sentence, left to right, never overlapping.

        Args:
            words: of one sentence, folded as the phrases are.

        Returns:
            (meaning, start, end): tokens ``start`` to ``end`` (exclusive).
        """
        found: list[tuple[T, int, int]] = []
        root, at, count = self._root, 0, len(words)
        while at < count:
            node = root.get(words[at])
            start = at
            at += 1
            if node is None:  # most words begin no phrase
                continue
            meaning, k = node.get(None), at
            while k < count and (node := node.get(words[k])) is not None:
                k += 1
                if (longer := node.get(None)) is not None:
                    meaning, at = longer, k
            if meaning is not None:
                found.append((meaning, start, at))
        return found
