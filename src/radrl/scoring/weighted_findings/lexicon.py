"""One trie of all that the reader knows: the labeler's cues, the names of concepts, the words of qualities.

The rule labeler's phrases are in it with the parts that they play in a sentence (`radrl.labelers.rules`), so
that its rules decide what is asserted, denied or hedged. A sentence is searched once, the longest phrase at
each place, left to right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from radrl.labelers import rules as labeler
from radrl.labelers.rules import Entry, Kind, fold
from radrl.observations import OBSERVATIONS
from radrl.scoring.weighted_findings import Change, Side, vocabulary

_NONE: Final[frozenset[Any]] = frozenset()
_PLAIN: Final = Entry(Kind.MENTION)
_ORGAN: Final = Entry(Kind.ORGAN)


NAMES: Final = 1
SAYS: Final = 2
PARTS: Final = 4
"""Bits of a phrase: it names a concept, it says something of one, it parts noun phrases."""


def bit(*kinds: Kind) -> int:
    """The bits of parts of a sentence, above those three."""
    return sum(8 << kind for kind in kinds)


class Meaning:
    """What a phrase says.

    Args:
        entry: its part in the assertion of the sentence; nothing where it has none.
        concept: what it names; empty for a cue and for a quality. Of an organ what its normality denies.
        also: a second organ that it names ("the cardiac and mediastinal contours").
        reversed: whether asserting it denies its concept ("well expanded").
        sides: left, right, or both.
        regions: by their names in `regions.csv`.
        hints: of `radrl.scoring.weighted_findings.vocabulary.HINTS`.
        severity: its rank.
        change: against an earlier film.
        tip: place where a line or tube may end.
        size_mm: a measurement.
        percent: one in percent, which is a degree of some findings.
        angle: one in degrees.
        word: what it does to the phrases around it: `ENDING`, `LOCATIVE`, `LINK` or nothing.
        says: whether it says anything of a finding.
        bits: the bit of its part (`bit`), with `NAMES`, `SAYS` and `PARTS`.
    """

    __slots__ = (
        "also",
        "angle",
        "bits",
        "change",
        "concept",
        "entry",
        "hints",
        "percent",
        "regions",
        "reversed",
        "says",
        "severity",
        "sides",
        "size_mm",
        "tip",
        "word",
    )

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self.concept = ""
        self.also = ""
        self.reversed = False
        self.sides: frozenset[Side] = _NONE
        self.regions: frozenset[str] = _NONE
        self.hints: frozenset[str] = _NONE
        self.severity: int | None = None
        self.change: Change | None = None
        self.tip: str | None = None
        self.size_mm: float | None = None
        self.percent: float | None = None
        self.angle: float | None = None
        self.word = 0
        self.says = False
        self.bits = 0

    def settle(self) -> None:
        """Note in bits what a sentence is asked for."""
        self.says = bool(
            self.sides
            or self.regions
            or self.hints
            or self.severity is not None
            or self.change
            or self.tip
            or self.size_mm is not None
            or self.percent is not None
            or self.angle is not None
            or self.also
        )
        self.bits = NAMES * bool(self.concept) | SAYS * self.says | PARTS * bool(self.word)
        if self.entry is not None:
            self.bits |= bit(self.entry.kind)

    def take(self, other: Meaning, *, changes: bool) -> None:
        """Add the qualities that a part of the phrase states."""
        self.sides |= other.sides
        self.regions |= other.regions
        self.hints |= other.hints
        if changes:
            self.severity = other.severity if self.severity is None else self.severity
            self.change = self.change or other.change


ENDING, LOCATIVE, LINK = 1, 2, 3
"""Words that end a noun phrase; of these, prepositions whose place belongs to what precedes, and words by
which one finding points to the next."""

Words = tuple[str, ...]
Trie = dict[Any, Any]
"""By word the next node; under None the meaning of what ends here."""


def written(lines: str) -> Iterator[Words]:
    """Every way of writing the phrases of a table's row, in folded words."""
    for row in labeler.spelled("\n".join(filter(str.strip, lines.splitlines()))):
        yield tuple(map(fold, row.split()))


class _Table(dict[Words, Meaning]):
    """Meanings by phrase, made as they are asked for."""

    def __missing__(self, words: Words) -> Meaning:
        self[words] = Meaning()
        return self[words]


def _qualities() -> _Table:
    """The words of qualities alone."""
    table = _Table()
    named = frozenset[Side]
    for sides, lines in vocabulary.SIDES.items():
        for words in written(lines):
            table[words].sides = named(sides.split())  # type: ignore[arg-type]
    for (sides, regions), lines in vocabulary.REGIONS.items():
        for words in written(lines):
            table[words].sides = named(sides.split())  # type: ignore[arg-type]
            table[words].regions = frozenset(regions.split())
    for hint, lines in vocabulary.HINTS.items():
        for words in written(lines):
            table[words].hints |= {hint}
    for severity, lines in vocabulary.SEVERITIES.items():
        for words in written(lines):
            table[words].severity = severity
    for change, lines in vocabulary.CHANGES.items():
        for words in written(lines):
            table[words].change = change or None  # type: ignore[assignment]
    for tip, lines in vocabulary.TIPS.items():
        for words in written(lines):
            table[words].tip = tip
    return table


def _labelers(node: labeler.Node, before: Words = ()) -> Iterator[tuple[Words, Entry]]:
    """The rule labeler's phrases."""
    if node.entry is not None:
        yield before, node.entry
    for word, after in node.next.items():
        yield from _labelers(after, (*before, word))


def _concept_of(entry: Entry) -> str:
    """The concept of a phrase that the labeler's lexicon alone knows."""
    return vocabulary.OF_OBSERVATION.get(OBSERVATIONS[entry.observations[0]], "")


def _names(table: _Table) -> None:
    """Enter concepts, organs and reversed phrases; the first entry of a phrase stays."""
    taken: set[Words] = set()
    for reverse, names in ((True, vocabulary.REVERSED), (False, vocabulary.CONCEPTS)):
        for concept, lines in names.items():
            for words in written(lines):
                if words not in taken:
                    taken.add(words)
                    meaning = table[words]
                    meaning.entry, meaning.concept, meaning.reversed = _PLAIN, concept, reverse
                    meaning.severity = meaning.change = None
    for concept, lines in vocabulary.ORGANS.items():
        for words in written(lines):
            if words not in taken:
                taken.add(words)
                table[words].entry, table[words].concept = _ORGAN, concept
    for words in written(vocabulary.SHADOWED):
        table[words] = Meaning()


def _cues(table: _Table) -> None:
    """Enter the labeler's phrases, and what the vocabulary of normal statements adds to them."""
    for words, entry in _labelers(labeler.TRIE):
        meaning = table[words]
        if entry.kind is Kind.MENTION:
            # What the labeler takes for uncertain at most is so here only where it is borderline.
            borderline = Entry(Kind.MENTION, weak=True) if words[0] == "borderline" else _PLAIN
            entry, meaning.concept = borderline, _concept_of(entry)
            meaning.severity = meaning.change = None
        elif entry.kind is Kind.ORGAN:
            first, *others = (vocabulary.OF_OBSERVATION[OBSERVATIONS[i]] for i in entry.observations)
            meaning.concept, meaning.also = first, others[0] if others else ""
        meaning.entry = entry
    for kind, lines in (
        (Kind.NORMAL, vocabulary.NORMAL_WORDS),
        (Kind.ENLARGED, vocabulary.ENLARGED_WORDS),
        (Kind.DENY, vocabulary.DENIALS),
        (Kind.DENY_BACK, vocabulary.REMOVALS),
        (Kind.HEDGE, vocabulary.HEDGES),
        (Kind.HEDGE_BACK, vocabulary.HEDGES_BACK),
        (Kind.IGNORED, vocabulary.NO_DENIALS),
    ):
        for words in written(lines):
            table[words].entry = Entry(kind)
    for word, lines in (
        (ENDING, vocabulary.ENDINGS),
        (LOCATIVE, vocabulary.PREPOSITIONS),
        (LINK, vocabulary.LINKS),
    ):
        for words in written(lines):
            table[words].word = word


def build() -> Trie:
    """The trie of all phrases."""
    own = _qualities()
    alone = _trie(own.items())
    table = _Table(own)
    _cues(table)
    _names(table)
    for words, meaning in table.items():
        _add_parts(words, meaning, alone, table)
        meaning.settle()
    return _trie(table.items())


def _add_parts(words: Words, meaning: Meaning, alone: Trie, table: _Table) -> None:
    """What a longer phrase says by its parts: the base of a "basilar density", the side of a "left lung"."""
    if len(words) == 1:
        return
    entry = meaning.entry
    if entry is None:
        if meaning.says or meaning.sides or meaning.regions or meaning.severity is not None or meaning.change:
            first = table.get(words[:1])
            if first is not None and first.entry is not None and first.entry.kind is Kind.QUALIFIER:
                meaning.entry = first.entry
        return
    named = entry.kind in (Kind.MENTION, Kind.ORGAN)
    for part, start, end in find(list(words), alone):
        if end - start < len(words):
            meaning.take(part, changes=not named)
            if named and words[start] in vocabulary.DEGREES and meaning.severity is None:
                meaning.severity = part.severity
    points = any(table[(word,)].word == LINK for word in words if (word,) in table)
    if entry.kind is Kind.HEDGE_LIST or (points and entry.kind in (Kind.HEDGE, Kind.IGNORED)):
        meaning.word = LINK


def _trie(entries: Iterable[tuple[Words, Meaning]]) -> Trie:
    root: Trie = {}
    for words, meaning in entries:
        node = root
        for word in words:
            node = node.setdefault(word, {})
        node[None] = meaning
    return root


def find(words: list[str], trie: Trie) -> list[tuple[Meaning, int, int]]:
    """The phrases in a sentence, the longest at each place, left to right, never overlapping.

    Args:
        words: folded tokens.
        trie: from `build`.

    Returns:
        (meaning, start, end): tokens ``start`` to ``end`` (exclusive).
    """
    found: list[tuple[Meaning, int, int]] = []
    at, count = 0, len(words)
    while at < count:
        node = trie.get(words[at])
        start = at
        at += 1
        if node is None:
            continue
        meaning, k = node.get(None), at
        while k < count and (node := node.get(words[k])) is not None:
            k += 1
            if (longer := node.get(None)) is not None:
                meaning, at = longer, k
        if meaning is not None:
            found.append((meaning, start, at))
    return found


TRIE: Final = build()
