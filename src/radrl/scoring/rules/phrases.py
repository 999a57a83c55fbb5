"""Phrases of words, each standing for something, and the search of a sentence for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


def written(table: Mapping[T, str], fold: Callable[[str], str] = str) -> Iterator[tuple[tuple[str, ...], T]]:
    """The phrases of a written table.

    Args:
        table: phrases by what they stand for, one a line; ``a|b`` are alternative words.
        fold: applied to every word.

    Yields:
        (words of a phrase, what it stands for), in the order of the table.
    """
    for meaning, lines in table.items():
        for line in filter(str.strip, lines.splitlines()):
            for words in itertools.product(*(slot.split("|") for slot in line.split())):
                yield tuple(map(fold, words)), meaning


class Phrases(Generic[T]):
    """A set of phrases that finds the longest one at each place of a sentence.

    Args:
        entries: (words, meaning) pairs; of equal phrases the first stays.
    """

    def __init__(self, entries: Iterable[tuple[tuple[str, ...], T]]) -> None:
        self._meanings: dict[tuple[str, ...], T] = {}
        for words, meaning in entries:
            self._meanings.setdefault(words, meaning)
        lengths: dict[str, set[int]] = {}
        for words in self._meanings:
            lengths.setdefault(words[0], set()).add(len(words))
        self._lengths = {word: sorted(found, reverse=True) for word, found in lengths.items()}

    def find(self, words: Sequence[str]) -> Iterator[tuple[T, int, int]]:
        """The phrases in a sentence, left to right, never overlapping.

        Args:
            words: of one sentence.

        Yields:
            (meaning, start, end), tokens ``start`` to ``end`` (exclusive).
        """
        at = 0
        while at < len(words):
            end = at
            for length in self._lengths.get(words[at], ()):
                if tuple(words[at : at + length]) in self._meanings and at + length <= len(words):
                    end = at + length
                    yield self._meanings[tuple(words[at:end])], at, end
                    break
            at = max(end, at + 1)
