"""What one sentence says: its findings, each with the qualities that belong to it.

The rule labeler's rules say what is asserted, denied or hedged (`radrl.labelers.rules.assertion`). A quality
belongs to the finding whose noun phrase it stands in ("small left effusion"), else to the last one before it
in its clause ("the effusion is small", "opacity in the left base"), else to the next: the rules of
`radrl.scoring.rules.attribute_owners`, in one pass over the phrases of the sentence. What follows a list is
said of all of it; what a finding points to ("left opacity suggests pneumonia") lies where it lies.
"""

from __future__ import annotations

import itertools
from typing import Final

from radrl.labelers.rules import (
    AND,
    BORDERLINE,
    COMMA,
    DENY,
    EITHER,
    HEDGE,
    OPEN,
    ORGAN,
    QUALIFIER,
    SEEN,
    STOP,
    VERB,
    Kind,
    fold,
    unfolded,
)
from radrl.observations import NEGATIVE
from radrl.scoring.rules import is_place
from radrl.scoring.weighted_findings import vocabulary
from radrl.scoring.weighted_findings.assertions import (
    BEYOND_NORMAL_ORGANS,
    WHEN_CALCIFIED,
    Draft,
    Part,
    all_normal,
    assertions,
    lend,
    lend_degree_and_change,
)
from radrl.scoring.weighted_findings.lexicon import (
    LINK,
    LOCATIVE,
    NAMES,
    PHRASES,
    SAYS,
    Meaning,
    bit,
)
from radrl.scoring.weighted_findings.measures import meanings, measures

_JOINTS: Final = frozenset({COMMA, AND, EITHER})
_BLOCKING: Final = bit(*_JOINTS, VERB, SEEN, STOP, DENY)
"""Parts that do not stand between an adjective and its noun."""
_HEDGING: Final = bit(HEDGE, OPEN)
_FILLERS: Final = frozenset({"the", "a", "an", "lung", "xxxx", "aspect", "portion", "side"})


def read(sentence: str, spelled: list[str], *, brief: bool = False) -> list[Draft]:
    """The findings of one sentence.

    Args:
        sentence: in lower case, as `radrl.labelers.rules.text.sentences` cuts it.
        spelled: its tokens.
        brief: whether a sentence that denies all that it names may give names alone.

    Returns:
        Findings in the order of the sentence; none where it names none.
    """
    words = [*map(fold, spelled)]
    parts = PHRASES.find(words)
    bits = 0
    for part in parts:
        bits |= part[0].bits
    if not bits & NAMES:
        return []
    if measures(sentence):
        parts = _with_measurements(sentence, parts)
        for part in parts:
            bits |= part[0].bits
    if not bits & BEYOND_NORMAL_ORGANS and all_normal(parts):
        return [
            Draft(meaning.concept, NEGATIVE, start, end, [meaning] if meaning.says else [])
            for meaning, start, end in parts
            if meaning.bits & NAMES
        ]
    said_of, looks = assertions(words, parts, bits)
    if not bits & SAYS or (brief and all(said == NEGATIVE for said in said_of.values())):
        return [_bare(*parts[index], said) for index, said in said_of.items()]
    return _Reading(spelled, words, parts, said_of, looks).drafts()


def _bare(meaning: Meaning, start: int, end: int, said: int) -> Draft:
    """A finding of which nothing is said."""
    concept = meaning.concept
    if said != NEGATIVE and meaning.entry is not None and meaning.entry.kind is ORGAN:
        concept = vocabulary.ENLARGED[concept]
    return Draft(concept, said, start, end)


def _with_measurements(sentence: str, parts: list[Part]) -> list[Part]:
    """The phrases with the measurements among them."""
    found = list(parts)
    for meaning, at in meanings(sentence):
        place = len(unfolded(sentence[:at]))
        found.append((meaning, place, place + 1))
    return sorted(found, key=lambda part: part[1])


class _Reading:
    """The pass over the phrases of one sentence.

    Args:
        spelled: its tokens.
        words: its tokens, folded.
        parts: its phrases.
        said_of: by part what is said of it.
        looks: the parts that state an organ's look.
    """

    __slots__ = (
        "_after_joint",
        "_comma",
        "_earlier",
        "_found",
        "_joint",
        "_last",
        "_link",
        "_listed",
        "_looks",
        "_open",
        "_organ",
        "_orphans",
        "_parts",
        "_pending",
        "_plural",
        "_predicate",
        "_said_of",
        "_sink",
        "_spelled",
        "_subject",
        "_tied",
        "_words",
    )

    def __init__(
        self,
        spelled: list[str],
        words: list[str],
        parts: list[Part],
        said_of: dict[int, int],
        looks: set[int],
    ) -> None:
        self._spelled, self._words, self._parts = spelled, words, parts
        self._said_of, self._looks = said_of, looks
        self._found: list[Draft] = []
        self._last: Draft | None = None  # of the clause
        self._earlier: Draft | None = None  # of the clauses before
        self._pending: list[Meaning] = []
        self._plural = False
        self._organ = False  # an organ stands among the pending
        self._orphans: list[Meaning] = []
        self._sink = False  # an organ is the subject
        self._subject: tuple[Meaning, ...] = ()
        self._tied = False
        self._open = False  # nothing has ended the noun phrase of the last finding
        self._joint: Kind | None = None
        self._predicate = False  # a verb followed the last finding
        self._after_joint = False  # the pending qualities begin a new part of a list
        self._listed = False
        self._link: Draft | None = None
        self._comma = False  # the last joint is a comma, and no other block followed

    def drafts(self) -> list[Draft]:
        """The findings."""
        said_of, looks = self._said_of, self._looks
        reached = 0
        for index, (meaning, start, end) in enumerate(self._parts):
            if self._listed and start > reached:
                self._listed = all(word in _FILLERS for word in self._words[reached:start])
            reached = end
            entry = meaning.entry
            kind = entry.kind if entry is not None else None
            if index in said_of:
                self._name(meaning, said_of[index], start, end)
            elif index in looks:
                if kind is BORDERLINE or meaning.percent is not None:
                    self._quality(meaning, start, end)
            elif kind is ORGAN and not self._ends_here(meaning):
                self._place(meaning, start, end)
            elif meaning.bits & _BLOCKING:
                self._block(kind, meaning, index)
            elif meaning.word:
                self._word(meaning, start)
            elif meaning.bits & _HEDGING and not self._after_joint:
                self._flush()
            elif meaning.says:
                self._quality(meaning, start, end)
        self._end_clause()
        self._share_in_lists()
        if not vocabulary.COMPARISONS.isdisjoint(self._words):
            for draft in self._found:
                draft.compared = True
        return self._found

    def _name(self, meaning: Meaning, said: int, start: int, end: int) -> None:
        """A finding is named, or an organ's size or look is stated."""
        concept = meaning.concept
        assert meaning.entry is not None
        if meaning.entry.kind is ORGAN and said != NEGATIVE:
            concept = vocabulary.ENLARGED.get(concept, concept)
        draft = Draft(concept, said, start, end, [meaning])
        last = self._last
        if last is not None and self._open and last.concept == "calcification":
            self._found.pop()
            draft.before += [*last.before, *last.after]
            draft.concept = WHEN_CALCIFIED.get(concept, concept)
            draft.joined, draft.plural = last.joined, last.plural
            last = self._found[-1] if self._found and self._found[-1].end <= last.start else None
        elif last is not None and self._listed:
            draft.joined = self._joint
        if last is not None and self._tied:
            last.after += self._pending
            last.plural |= self._plural
        else:
            draft.before += self._pending
            draft.plural |= self._plural
        if last is None and not self._sink:
            owner = self._earlier_device(concept)
            if owner is None:
                draft.before += self._orphans
            else:
                owner.after += self._orphans
            self._orphans = []
        self._pending, self._tied, self._plural, self._organ = [], False, False, False
        if said != NEGATIVE and meaning.regions:
            draft.plural |= any(word in vocabulary.PAIRED for word in self._spelled[start:end])
        draft.host, draft.subject = self._link, self._subject
        if draft.joined is not None and last is not None and last.host is not None:
            draft.host = last.host
        elif self._explains(last, draft) or self._blunts(last, draft):
            draft.host = last
        self._found.append(draft)
        self._last, self._open, self._listed, self._joint = draft, True, True, None
        self._after_joint, self._predicate = False, False

    def _ends_here(self, meaning: Meaning) -> bool:
        """Whether an organ is where a line before it ends ("leads in right atrium and right ventricle")."""
        before = self._last or self._earlier
        return bool(meaning.tip) and before is not None and before.concept in vocabulary.WITH_TIPS

    def _earlier_device(self, concept: str) -> Draft | None:
        """The line or tube that a tip in the clause belongs to, where its finding cannot have one."""
        earlier = self._earlier
        if earlier is None or concept in vocabulary.WITH_TIPS or earlier.concept not in vocabulary.WITH_TIPS:
            return None
        return earlier if any(one.tip for one in self._orphans) else None

    def _explains(self, last: Draft | None, draft: Draft) -> bool:
        """Whether a finding behind a comma says what the one before it is."""
        return (
            self._comma
            and last is not None
            and last.said != NEGATIVE
            and last.concept in vocabulary.OPACITIES
            and draft.concept in vocabulary.EXPLANATIONS
        )

    def _blunts(self, last: Draft | None, draft: Draft) -> bool:
        """Whether a finding blunts the angle beside it ("right effusion blunting the costophrenic angle")."""
        return (
            last is not None
            and last.said != NEGATIVE
            and last.concept in vocabulary.BLUNTING
            and draft.joined is None
            and last.end == draft.start
            and draft.concept == "blunted_costophrenic_angle"
        )

    def _place(self, meaning: Meaning, start: int, end: int) -> None:
        """An organ of which no look is stated: a finding's place, or the subject of its clause."""
        self._quality(meaning, start, end)
        if is_place(self._words, start):
            return
        if self._last is not None and self._open:
            self._give(self._last)
        else:
            self._organ = True

    def _quality(self, meaning: Meaning, start: int, end: int) -> None:
        """A quality, of a finding that is yet to be found."""
        self._pending.append(meaning)
        if meaning.regions and any(word in vocabulary.PAIRED for word in self._spelled[start:end]):
            self._plural = True

    def _give(self, draft: Draft) -> None:
        """What is pending belongs to a finding before."""
        draft.after += self._pending
        draft.plural |= self._plural
        self._pending, self._tied, self._plural, self._organ = [], False, False, False

    def _flush(self) -> None:
        """A noun phrase ends, and with it what waits for its finding."""
        self._open = False
        if not self._pending:
            self._tied = False
        elif self._last is not None:
            self._give(self._last)
        elif self._organ:
            self._subject, self._sink = (*self._subject, *self._orphans, *self._pending), True
            self._pending, self._orphans, self._organ, self._plural, self._tied = [], [], False, False, False
        else:
            if self._sink:
                self._subject = (*self._subject, *self._pending)
            else:
                self._orphans += self._pending
            self._pending, self._tied = [], False

    def _block(self, kind: Kind | None, meaning: Meaning, index: int) -> None:
        """A joint, a verb, a denial, or the end of a clause."""
        self._comma = kind is COMMA
        self._after_joint = kind in _JOINTS
        if kind in _JOINTS:
            if self._goes_on(index):
                return
            self._joint = kind if self._joint is not EITHER else self._joint
        else:
            self._listed = False
        if kind is VERB and self._organ and self._last is not None:  # "... and the aorta is calcified"
            self._earlier, self._last, self._subject = self._last, None, ()
        self._flush()
        self._predicate |= kind is VERB and self._last is not None
        if kind is STOP:
            self._end_clause()
        if meaning.word == LINK:
            self._link = self._last or self._earlier
        if meaning.says:
            self._pending.append(meaning)

    def _goes_on(self, joint: int) -> bool:
        """Whether qualities of one noun phrase are listed ("right middle and lower lobe")."""
        if not self._pending or self._tied or self._predicate or joint + 1 >= len(self._parts):
            return False
        meaning, start, _ = self._parts[joint + 1]
        entry = meaning.entry
        plain = entry is None or entry.kind is QUALIFIER
        return plain and meaning.says and not meaning.word and start == self._parts[joint][2]

    def _word(self, meaning: Meaning, start: int) -> None:
        """A word that ends a noun phrase."""
        word = meaning.word
        if self._words[start] == "of" and start and self._words[start - 1] in vocabulary.AMOUNTS:
            return
        self._flush()
        self._listed = False
        if word == LOCATIVE:
            self._tied = self._last is not None
        elif word == LINK:
            self._link = self._last or self._earlier
        if meaning.says:
            self._pending.append(meaning)

    def _end_clause(self) -> None:
        """What is left over belongs to the last finding before."""
        self._flush()
        if self._last is None and self._earlier is not None and not self._sink:
            self._earlier.after += self._orphans
            self._orphans = []
        self._earlier = self._last or self._earlier
        self._last, self._sink, self._subject = None, False, ()

    def _share_in_lists(self) -> None:
        """What follows a list is said of all of it; what precedes alternatives of both."""
        found = self._found
        for i in range(len(found) - 1, 0, -1):
            if found[i].joined is not None and found[i].after:
                lend(found[i].after, found[i - 1], found[i].plural)
                lend_degree_and_change(found[i].after, found[i - 1])
        for before, draft in itertools.pairwise(found):
            if draft.joined is EITHER:
                where = [one for one in before.before[1:] if one.sides or one.regions]
                where += [one for one in before.before[:1] if one.regions and one.regions <= vocabulary.LUNG]
                lend(where, draft, before.plural)
            elif draft.joined is AND and before.said == draft.said:
                lend([one for one in before.before if one.sides], draft, before.plural)
