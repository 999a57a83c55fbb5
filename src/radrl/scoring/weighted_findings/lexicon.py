"""All phrases that the reader knows: the labeler's cues, the names of concepts, the words of qualities.

The rule labeler's phrases are among them with the parts that they play in a sentence
(`radrl.labelers.rules`), so that its rules decide what is asserted, denied or hedged. A sentence is searched
once (`radrl.labelers.rules.phrases`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from radrl.labelers.rules import ENTRIES, Entry, Kind, fold
from radrl.labelers.rules.phrases import Phrases, Words, entries, spelled
from radrl.observations import OBSERVATIONS
from radrl.scoring.weighted_findings import Change, Side, vocabulary

T = TypeVar("T")
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


class _Table(dict[Words, Meaning]):
    """Meanings by phrase, made as they are asked for."""

    def __missing__(self, words: Words) -> Meaning:
        self[words] = Meaning()
        return self[words]


def _qualities() -> _Table:
    """The words of qualities alone."""
    table = _Table()
    named = frozenset[Side]
    for words, sides in _folded(vocabulary.SIDES):
        table[words].sides = named(sides.split())  # type: ignore[arg-type]
    for words, (sides, regions) in _folded(vocabulary.REGIONS):
        table[words].sides = named(sides.split())  # type: ignore[arg-type]
        table[words].regions = frozenset(regions.split())
    for words, hint in _folded(vocabulary.HINTS):
        table[words].hints |= {hint}
    for words, severity in _folded(vocabulary.SEVERITIES):
        table[words].severity = severity
    for words, change in _folded(vocabulary.CHANGES):
        table[words].change = change or None  # type: ignore[assignment]
    for words, tip in _folded(vocabulary.TIPS):
        table[words].tip = tip
    return table


def _folded(table: Mapping[T, str]) -> Iterator[tuple[Words, T]]:
    """The phrases of a table by what they say, in folded words."""
    return entries(table.items(), fold)


def _concept_of(entry: Entry) -> str:
    """The concept of a phrase that the labeler's lexicon alone knows."""
    return vocabulary.OF_OBSERVATION.get(OBSERVATIONS[entry.observations[0]], "")


def _names(table: _Table) -> None:
    """Enter concepts, organs and reversed phrases; the first entry of a phrase stays."""
    taken: set[Words] = set()
    for reverse, names in ((True, vocabulary.REVERSED), (False, vocabulary.CONCEPTS)):
        for words, concept in _folded(names):
            if words not in taken:
                taken.add(words)
                meaning = table[words]
                meaning.entry, meaning.concept, meaning.reversed = _PLAIN, concept, reverse
                meaning.severity = meaning.change = None
    for words, organ in _folded(vocabulary.ORGANS):
        if words not in taken:
            taken.add(words)
            table[words].entry, table[words].concept = _ORGAN, organ
    for words in spelled(vocabulary.SHADOWED, fold):
        table[words] = Meaning()


def _cues(table: _Table) -> None:
    """Enter the labeler's phrases, and what the vocabulary of normal statements adds to them."""
    for words, entry in ENTRIES.items():
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
    kinds = {
        Kind.NORMAL: vocabulary.NORMAL_WORDS,
        Kind.ENLARGED: vocabulary.ENLARGED_WORDS,
        Kind.DENY: vocabulary.DENIALS,
        Kind.DENY_BACK: vocabulary.REMOVALS,
        Kind.HEDGE: vocabulary.HEDGES,
        Kind.HEDGE_BACK: vocabulary.HEDGES_BACK,
        Kind.IGNORED: vocabulary.NO_DENIALS,
    }
    for words, kind in _folded(kinds):
        table[words].entry = Entry(kind)
    ends = {ENDING: vocabulary.ENDINGS, LOCATIVE: vocabulary.PREPOSITIONS, LINK: vocabulary.LINKS}
    for words, word in _folded(ends):
        table[words].word = word


def _phrases() -> Phrases[Meaning]:
    """All phrases."""
    own = _qualities()
    alone = Phrases(own.items())
    table = _Table(own)
    _cues(table)
    _names(table)
    for words, meaning in table.items():
        _add_parts(words, meaning, alone, table)
        meaning.settle()
    return Phrases(table.items())


def _add_parts(words: Words, meaning: Meaning, alone: Phrases[Meaning], table: _Table) -> None:
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
    for part, start, end in alone.find(words):
        if end - start < len(words):
            meaning.take(part, changes=not named)
            if named and words[start] in vocabulary.DEGREES and meaning.severity is None:
                meaning.severity = part.severity
    points = any(table[(word,)].word == LINK for word in words if (word,) in table)
    if entry.kind is Kind.HEDGE_LIST or (points and entry.kind in (Kind.HEDGE, Kind.IGNORED)):
        meaning.word = LINK


PHRASES: Final = _phrases()
