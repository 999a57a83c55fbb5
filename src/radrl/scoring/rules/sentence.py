"""One sentence read: which findings it names, what it says of each, and which words say so.

The rule labeler's cues decide what is asserted, denied or hedged; the vocabulary brings names to them, and
every side, place, severity and change is given to the finding it belongs to.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from radrl.labelers.rules import Entry, Item, Kind, find
from radrl.labelers.rules.assertion import statements
from radrl.labelers.rules.phrases import Phrases, Words, entries
from radrl.labelers.rules.text import fold, tokens
from radrl.observations import NEGATIVE, OBSERVATIONS, POSITIVE
from radrl.scoring.rules import is_place
from radrl.scoring.rules import vocabulary as known
from radrl.scoring.rules.attribute_owners import AttributeOwners
from radrl.scoring.rules.vocabulary import Attribute, Mention, Role

CACHED_SENTENCES: Final = 32_768
"""Sentences remembered; a corpus of 2,400 Open-i reports has about 6,000 different ones."""

_PIECE: Final = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")
_TOKEN: Final = re.compile(r"[a-z0-9,:/?()]")
"""How a piece begins that the labeler takes for a token; it passes over the other marks."""

_CHANGE_REACH: Final = 4
"""Tokens between "no" and "change" in "no significant interval change"."""


class Sentence(NamedTuple):
    """A sentence read.

    Args:
        pieces: words and marks in lower case; all of them.
        at: by token, its index among the pieces.
        mentions: findings, in the order of the sentence.
        organs: mentions without a name: organs of which no look is stated, with what else is said of them
            ("the mediastinum is stable"), and an empty one that has what is said of nothing.
        links: (i, j), where mention i points to mention j ("opacity suggests pneumonia").
        neighbours: (i, j), where mention j lies beside mention i ("effusion with adjacent atelectasis").
    """

    pieces: tuple[str, ...]
    at: tuple[int, ...]
    mentions: tuple[Mention, ...]
    organs: tuple[Mention, ...]
    links: tuple[tuple[int, int], ...]
    neighbours: tuple[tuple[int, int], ...]


class _Named(NamedTuple):
    """What a phrase of the vocabulary is to the labeler's rules, and the finding it names."""

    kind: Kind
    name: str = ""
    reversed: bool = False


_Names = dict[tuple[int, int], _Named]
"""What the vocabulary knows of a sentence, by tokens."""


def _named() -> Iterator[tuple[Words, _Named]]:
    tables: tuple[dict[_Named, str], ...] = (
        {_Named(Kind.DENY): known.DENIALS, _Named(Kind.NORMAL): known.NORMAL_WORDS},
        {_Named(Kind.MENTION, name, True): lines for name, lines in known.REVERSED.items()},
        {_Named(Kind.MENTION, name): lines for name, lines in known.FINDINGS.items()},
        {_Named(Kind.ORGAN, name): lines for name, lines in known.ORGANS.items()},
    )
    for table in tables:
        yield from entries(table.items(), fold)


_NAMED: Final = Phrases(_named())
_ATTRIBUTES: Final = tuple(
    (role, Phrases(entries(table.items())))
    for role, table in (
        (Role.SIDE, known.SIDES),
        (Role.PLACE, known.PLACES),
        (Role.SEVERITY, known.SEVERITIES),
        (Role.CHANGE, known.CHANGES),
        (Role.DESCRIPTOR, {word: word for word in known.DESCRIPTORS}),
    )
)


@lru_cache(maxsize=CACHED_SENTENCES)
def parse(sentence: str) -> Sentence:
    """Read one sentence.

    Args:
        sentence: in lower case, as `radrl.labelers.rules.text.sentences` cuts it.

    Returns:
        The sentence read; without mentions where it names no finding.
    """
    pieces = tuple(_PIECE.findall(sentence))
    at = tuple(i for i, piece in enumerate(pieces) if _TOKEN.match(piece))
    words = [pieces[i] for i in at]
    items, names = _items(tokens(sentence))
    everything = _with_attributes(words, items, _mentions(words, items, names))
    mentions = tuple(mention for mention in everything if mention.name)
    organs = tuple(mention for mention in everything if not mention.name)
    links, neighbours = _links(words, items, mentions), _neighbours(words, mentions)
    return Sentence(pieces, at, mentions, organs, tuple(links), tuple(neighbours))


def _items(folded: list[str]) -> tuple[list[Item], _Names]:
    """The labeler's items and the vocabulary's, the longer of two that overlap."""
    items = find(folded)
    names: _Names = {}
    for named, start, end in _NAMED.find(folded):
        clash = [item for item in items if item.start < end and start < item.end]
        longer = any(item.end - item.start > end - start for item in clash)
        if longer or (named.kind is Kind.ORGAN and is_place(folded, start, known.PREPOSITIONS)):
            continue
        items = [item for item in items if item not in clash]
        items.append(Item(Entry(named.kind), start, end))
        names[start, end] = named
    items.sort(key=lambda item: item.start)
    return [item for i, item in enumerate(items) if not _looks_at_a_mention(items, i, names)], names


def _looks_at_a_mention(items: list[Item], i: int, names: _Names) -> bool:
    """Whether a look of the vocabulary is said of a mention: "wires are intact" denies no wires."""
    item = items[i]
    if item.kind is not Kind.NORMAL or (item.start, item.end) not in names or i < 2:
        return False
    return items[i - 1].kind is Kind.VERB and items[i - 2].kind is Kind.MENTION


def _mentions(words: list[str], items: list[Item], names: _Names) -> list[Mention]:
    """Findings, and organs of which no look is stated; without attributes."""
    found: list[Mention] = []
    said_of = {statement.item: statement for statement in statements(items)}
    subject = known.WHOLE_CHEST
    for index, item in enumerate(items):
        named = names.get((item.start, item.end))
        if index in said_of:
            _, said, size = said_of[index]
            look = None if size is None else (items[size].start, items[size].end)
            normal = bool(named and named.reversed) or (size is not None and items[size].kind is Kind.NORMAL)
            for name, polarity in _stated(words, item, named, said):
                name = subject if name == known.GENERIC else name
                found.append(Mention(name, polarity, item.start, item.end, look, normal))
        elif item.kind is Kind.ORGAN and not is_place(words, item.start, known.PREPOSITIONS):
            found.append(Mention("", POSITIVE, item.start, item.end))
            subject = named.name if named else subject
    return found


def _stated(words: list[str], item: Item, named: _Named | None, said: int) -> Iterator[tuple[str, int]]:
    """Names and classes of the findings that an item states."""
    if named is None:
        for name in _labelers_names(words, item):
            yield name, said
    elif named.kind is Kind.MENTION:
        yield named.name, {POSITIVE: NEGATIVE, NEGATIVE: POSITIVE}.get(said, said) if named.reversed else said
    elif said != POSITIVE or named.name in known.ENLARGEABLE:
        yield named.name, said


def _labelers_names(words: list[str], item: Item) -> list[str]:
    """Names of an item that the labeler's lexicon alone knows."""
    names = [OBSERVATIONS[observation] for observation in item.entry.observations]
    if item.kind is Kind.MENTION:
        names = names[:1]  # "nodular opacity" is one finding under two observations
    own = " ".join(words[item.start : item.end])
    return [known.OBSERVATION_NAMES.get(name, own) for name in names]


def _with_attributes(words: list[str], items: list[Item], mentions: list[Mention]) -> list[Mention]:
    """Mentions with their attributes; those that belong to none under an empty mention of no name."""
    mentions = _without_parts(words, items, mentions)
    owned, loose = AttributeOwners(words, items, mentions).share(_attributes(words, items))
    if loose:
        mentions, owned = [*mentions, Mention("", POSITIVE, 0, 0)], [*owned, loose]
    return [
        mention._replace(attributes=tuple(sorted(own, key=lambda one: (one.start, one.role))))
        for mention, own in zip(mentions, owned, strict=True)
    ]


def _without_parts(words: list[str], items: list[Item], mentions: list[Mention]) -> list[Mention]:
    """Mentions without those that are part of another's noun phrase.

    Such are a "calcified" that describes the next finding ("calcified left hilar granuloma") and an organ
    that the finding before it describes ("elevated right hemidiaphragm").
    """
    owners = AttributeOwners(words, items, mentions)
    whole = mentions[:1]
    for after in mentions[1:]:
        before = whole[-1]
        if not before.name or not owners.leads_to(before.end, after.start):
            whole.append(after)
        elif after.name and words[before.start : before.end] in known.CALCIFIED:
            whole[-1] = after._replace(name=known.WHEN_CALCIFIED.get(after.name, after.name))
        elif after.name:
            whole.append(after)
    return whole


def _attributes(words: list[str], items: list[Item]) -> Iterator[Attribute]:
    compares = not known.COMPARISONS.isdisjoint(words)
    for role, phrases in _ATTRIBUTES:
        for value, start, end in phrases.find(words):
            value = known.INCREASED if compares and value == known.RAISED else value
            attribute = Attribute(role, value, start, end)
            if role is Role.CHANGE and _is_denied(attribute, items):
                yield attribute._replace(value=known.UNCHANGED, denied=True)
            elif value not in (known.NOTHING, known.CHANGED):
                yield attribute


def _is_denied(change: Attribute, items: list[Item]) -> bool:
    """Whether a change is denied and not a finding ("no increase in the effusion", but "no new effusion")."""
    if change.value not in known.DENIABLE:
        return False
    for item in reversed(items):
        if item.start >= change.start:
            continue
        if change.start - item.end >= _CHANGE_REACH or item.kind in (Kind.MENTION, Kind.ORGAN, Kind.STOP):
            return False
        if item.kind is Kind.DENY:
            return True
    return False


def _links(words: list[str], items: list[Item], mentions: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """Which mention points to which: the last before a word of suggestion to those listed after it."""
    for k, word in enumerate(words):
        if word not in known.LINKS:
            continue
        stop = next((item.start for item in items if item.kind is Kind.STOP and item.start > k), len(words))
        before = [i for i, m in enumerate(mentions) if m.end <= k and m.said != NEGATIVE]
        for j, mention in enumerate(mentions):
            if before and k < mention.start < stop and mention.said != NEGATIVE:
                yield before[-1], j


def _neighbours(words: list[str], mentions: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """Mentions of which a word says that they lie beside the one before."""
    for i, (before, after) in enumerate(itertools.pairwise(mentions)):
        if not known.BESIDE.isdisjoint(words[before.end : after.start]):
            yield i, i + 1
