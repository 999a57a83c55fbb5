"""Reports that no corpus holds, for a learner of the rules' labels: new sentences and words.

What a sentence says of a finding hardly depends on its neighbours, so sentences drawn together at random are
reports with more combinations, and more rare findings, than a corpus holds.

The rules know thousands of phrases, most of which a corpus holds seldom or never. Put into the places of
phrases of the same part they give sentences that read like its own, and that the rules can label. A learner
of the rules' labels needs them; whether a sentence makes medical sense does not matter to it. It also has to
learn which words the rules pass over: these give way to one another too, and to words that nobody ever wrote
but that look like some of the rules'. And it has to learn how far cues reach: some sentences are the front
of one and the back of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from radrl.labelers.rules import (
    BORDERLINE_HEART,
    CONGESTION,
    CUES,
    FINDINGS,
    HEART_FAILURE,
    ORGANS,
    SHADOWED,
    Item,
    Kind,
    find,
    fold,
    raw_tokens,
)
from radrl.labelers.rules.phrases import spelled

_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_LONGEST_FROM: Final = 0.8
"""Share of the texts after which they have their full length."""

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_ALIKE: Final[tuple[tuple[Kind, ...], ...]] = (
    (Kind.MENTION, Kind.IGNORED),
    (Kind.DENY, Kind.HEDGE, Kind.HEDGE_LIST, Kind.OPEN, Kind.ASKED),
    (Kind.DENY_BACK, Kind.HEDGE_BACK, Kind.OPEN_BACK, Kind.ASKED_BACK, Kind.SEEN),
    (Kind.NORMAL, Kind.ENLARGED, Kind.BORDERLINE),
)
"""Kinds that play one part: findings and what only looks like one, cues that reach forward, cues that reach
back, sizes. Any other kind is a part of its own."""
_PASSED_OVER: Final = 0.25
"""How likely a word outside the lexicon is exchanged, compared with a phrase."""
_SPLICED: Final = 0.3
"""How likely a sentence goes on as another before its words are exchanged."""
_JOINTS: Final = (" ", " ", " ", ", ", " and ")
_BLENDED: Final = 0.25
"""How likely a word outside the lexicon is exchanged for a blend of two ("portacatheter")."""
_KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.COMMA)
_PLURAL: Final = 0.3
"""How likely a finding or organ gets a plural ending, which the lexicon leaves out."""


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


class Place(NamedTuple):
    """Where a phrase, or a word outside the lexicon, stands in a sentence.

    Args:
        start: its first character.
        end: the character after its last.
        item: the phrase, nothing for a word outside the lexicon.
    """

    start: int
    end: int
    item: Item | None


def reword(sentences: Sequence[str], *, rng: np.random.Generator) -> list[str]:
    """Exchange phrases for others of their part, and words outside the lexicon for one another.

    What share of its phrases a sentence loses is drawn anew each time, all shares equally likely. Before
    that some sentences get the back of another one.

    Args:
        sentences: lower-case sentences.
        rng: decides which phrases, and for what.

    Returns:
        The sentences that changed, each once, in order.
    """
    places = {sentence: list(_places(sentence)) for sentence in dict.fromkeys(sentences)}
    others = _outside_the_lexicon(places)
    changed: dict[str, None] = {}
    for sentence in sentences:
        text, at = sentence, places[sentence]
        if rng.random() < _SPLICED:
            text = _spliced(sentence, sentences[int(rng.integers(len(sentences)))], places, rng)
            at = at if text == sentence else list(_places(text))
        new = _reworded(text, at, others, rng)
        if new != sentence:
            changed[new] = None
    return list(changed)


def _spliced(front: str, back: str, places: Mapping[str, list[Place]], rng: np.random.Generator) -> str:
    """The front of one sentence and the back of another, cut between phrases."""
    if front == back or not places[front] or not places[back]:
        return front
    end = places[front][rng.integers(len(places[front]))].end
    start = places[back][rng.integers(len(places[back]))].start
    return front[:end] + _JOINTS[rng.integers(len(_JOINTS))] + back[start:]


def _reworded(sentence: str, places: Sequence[Place], others: list[str], rng: np.random.Generator) -> str:
    share = rng.random()
    out, at = [], 0
    for start, end, item in places:
        if rng.random() < share * (1 if item else _PASSED_OVER if others else 0):
            out.append(sentence[at:start] + (_phrase(item.kind, rng) if item else _word(others, rng)))
            at = end
    return "".join(out) + sentence[at:]


def _places(sentence: str) -> Iterator[Place]:
    """Each phrase, and each word outside the lexicon; marks are left out."""
    words = raw_tokens(sentence)
    items = {item.start: item for item in find([fold(word.group()) for word in words])}
    at = 0
    while at < len(words):
        item = items.get(at)
        end = item.end if item else at + 1
        if words[at].group().isalnum():
            yield Place(words[at].start(), words[end - 1].end(), item)
        at = end


def _outside_the_lexicon(places: Mapping[str, list[Place]]) -> list[str]:
    """Words that the rules pass over, each once, in the order of the sentences."""
    words = (
        sentence[start:end]
        for sentence, found in places.items()
        for start, end, item in found
        if item is None
    )
    return list(dict.fromkeys(words))


def _word(others: list[str], rng: np.random.Generator) -> str:
    """A word outside the lexicon, or a blend of one with another or with a word of the lexicon."""
    one = others[rng.integers(len(others))]
    if rng.random() >= _BLENDED:
        return one
    known = rng.random() < 0.5
    two = (
        _phrase(_KINDS[rng.integers(len(_KINDS))], rng).split()[-1]
        if known
        else others[rng.integers(len(others))]
    )
    first, last = (one, two) if rng.random() < 0.5 else (two, one)
    return first[: rng.integers(1, len(first) + 1)] + last[rng.integers(len(last)) :]


def _phrase(kind: Kind, rng: np.random.Generator) -> str:
    """A phrase of the kind's part: first a group, such as an observation, then one of its phrases."""
    groups = _groups(next((alike for alike in _ALIKE if kind in alike), (kind,)))
    group = groups[rng.integers(len(groups))]
    phrase = group[rng.integers(len(group))]
    named = kind in (Kind.MENTION, Kind.IGNORED, Kind.ORGAN)
    return _plural(phrase) if named and rng.random() < _PLURAL else phrase


def _plural(phrase: str) -> str:
    """A phrase with a plural ending, or as it was where the rules would not know that ending."""
    plural = phrase[:-1] + "ies" if phrase.endswith("y") else phrase + "s"
    return plural if fold(plural.split()[-1]) == fold(phrase.split()[-1]) else phrase


@cache
def _groups(kinds: tuple[Kind, ...]) -> list[list[str]]:
    tables = [table for kind in kinds for table in _tables(kind)]
    spellings = ([*map(" ".join, spelled(table))] for table in tables)
    return [phrases for phrases in spellings if phrases]


def _tables(kind: Kind) -> list[str]:
    if kind is Kind.MENTION:
        implying = [CONGESTION, HEART_FAILURE, BORDERLINE_HEART]
        return [*FINDINGS.values(), *implying]
    if kind is Kind.ORGAN:
        return list(ORGANS.values())
    if kind is Kind.IGNORED:
        return [SHADOWED, CUES[kind]]
    return CUES[kind].splitlines()
