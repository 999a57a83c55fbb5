"""What one sentence says: its findings, each with the qualities that belong to it.

The rule labeler's rules say what is asserted, denied or hedged (`radrl.labelers.rules.assertion`). A quality
belongs to the finding whose noun phrase it stands in ("small left effusion"), else to the last one before it
in its clause ("the effusion is small", "opacity in the left base"), else to the next: the rules of
`radrl.scoring.rules.owners`, in one pass over the phrases of the sentence. What follows a list is said of all
of it; what a finding points to ("left opacity suggests pneumonia") lies where it lies.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from radrl.labelers.rules.assertion import statements
from radrl.labelers.rules.lexicon import (
    AND,
    BORDERLINE,
    CHANGE,
    COMMA,
    DENY,
    EITHER,
    HEDGE,
    IGNORED,
    MENTION,
    NORMAL,
    OPEN,
    ORGAN,
    QUALIFIER,
    SEEN,
    STOP,
    VERB,
    Item,
    Kind,
    fold,
)
from radrl.observations import NEGATIVE, POSITIVE, UNCERTAIN
from radrl.scoring.weighted_findings import lexicon, phrases, qualities
from radrl.scoring.weighted_findings.lexicon import (
    LINK,
    LOCATIVE,
    NAMES,
    PARTS,
    SAYS,
    TRIE,
    Meaning,
    bit,
)
from radrl.scoring.weighted_findings.measures import meanings, measures


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOKEN: Final = re.compile(r"[a-z0-9]+|[,:/?()]")
_JOINTS: Final = frozenset({COMMA, AND, EITHER})
_FILLERS: Final = frozenset({"the", "a", "an", "lung", "xxxx", "aspect", "portion", "side"})
_BEFORE_ORGANS: Final = _words("""
    the both left right bilateral visualized upper mid middle lower anterior posterior lateral medial
""")
_PREPOSITIONS: Final = _words("""
    in at of within over overlying along near throughout on to from by into above below under
""")
_LOOKS: Final = frozenset({"clear", "intact", "sharp", "midline", "preserved", "maintained"})
_Part = tuple[Meaning, int, int]
"""What a phrase says, its first token, and the token after its last."""

_NORMAL: Final = bit(NORMAL)
_VERB: Final = bit(VERB)
_BEYOND_NORMAL_ORGANS: Final = PARTS | bit(*Kind) & ~bit(ORGAN, QUALIFIER, AND, COMMA, VERB, NORMAL)
_SAID_OR_DONE: Final = _NORMAL | _VERB | SAYS
_NAMED: Final = bit(MENTION) | NAMES
_DENIES: Final = bit(DENY)
_SILENT: Final = bit(
    MENTION,
    ORGAN,
    AND,
    COMMA,
    VERB,
    SEEN,
    CHANGE,
    QUALIFIER,
    STOP,
    IGNORED,
)
_SPEAKING: Final = bit(*Kind) & ~_SILENT
"""Parts that make anything else of a finding than stated."""
_BLOCKING: Final = bit(*_JOINTS, VERB, SEEN, STOP, DENY)
"""Parts that do not stand between an adjective and its noun."""
_HEDGING: Final = bit(HEDGE, OPEN)
_LIST: Final = bit(MENTION, COMMA, AND, EITHER)
_STOP: Final = bit(STOP)
_SEEN: Final = bit(SEEN)
_NO_LIST: Final = bit(*Kind) & ~_LIST
_BEYOND_A_DENIED_LIST: Final = _NO_LIST & ~(_DENIES | _STOP | _SEEN | _VERB)
"""Parts that no denied list has."""

_OPPOSITE: Final = {POSITIVE: NEGATIVE, NEGATIVE: POSITIVE}


@dataclass(slots=True, eq=False)
class Draft:
    """A finding as the words of a sentence name it.

    Args:
        concept: its name.
        said: its class (positive, negative or uncertain).
        start: first token of its phrase.
        end: the token after its last.
        before: qualities of its noun phrase.
        after: qualities said of it behind.
        joined: how it follows the finding before it in a list; nothing where it does not.
        host: the finding that points to it.
        subject: qualities of the organ that is the subject of its clause.
        compared: whether its sentence compares with an earlier film.
        plural: whether a plural of a paired place stands among its qualities.
    """

    concept: str
    said: int
    start: int
    end: int
    before: list[Meaning] = field(default_factory=list)
    after: list[Meaning] = field(default_factory=list)
    joined: Kind | None = None
    host: Draft | None = None
    subject: tuple[Meaning, ...] = ()
    plural: bool = False
    compared: bool = False

    @property
    def bare(self) -> bool:
        """Whether nothing is said of it."""
        return not (self.before or self.after or self.subject or self.host)

    def raised(self, *, described: bool) -> bool:
        """Whether "increased" is a change: not before what it only describes ("increased opacity")."""
        said = self.after if described and not self.compared else [*self.before[1:], *self.after]
        return any("raised" in one.hints for one in said)


def tokens(sentence: str) -> list[str]:
    """The tokens of a lower-case sentence as they are spelled."""
    return _TOKEN.findall(sentence)


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
    parts = lexicon.find(words, TRIE)
    bits = 0
    for part in parts:
        bits |= part[0].bits
    if not bits & NAMES:
        return []
    if measures(sentence):
        parts = _with_measurements(sentence, parts)
        for part in parts:
            bits |= part[0].bits
    if not bits & _BEYOND_NORMAL_ORGANS and _all_normal(parts):
        return [
            Draft(meaning.concept, NEGATIVE, start, end, [meaning] if meaning.says else [])
            for meaning, start, end in parts
            if meaning.bits & NAMES
        ]
    said_of, looks = _assertions(words, parts, bits)
    if not bits & SAYS or (brief and all(said == NEGATIVE for said in said_of.values())):
        return [_bare(*parts[index], said) for index, said in said_of.items()]
    return _Reading(spelled, words, parts, said_of, looks).drafts()


def _all_normal(parts: list[_Part]) -> bool:
    """Whether a sentence says of organs alone that they are normal ("heart and hila are normal")."""
    if len(parts) < 3 or not parts[-1][0].bits & _NORMAL or not parts[-2][0].bits & _VERB:
        return False
    for meaning, _, _ in parts[:-2]:
        bits = meaning.bits
        if bits & _SAID_OR_DONE and (bits & (_NORMAL | _VERB) or not bits & NAMES):
            return False
    return True


def _bare(meaning: Meaning, start: int, end: int, said: int) -> Draft:
    """A finding of which nothing is said."""
    concept = meaning.concept
    if said != NEGATIVE and meaning.entry is not None and meaning.entry.kind is ORGAN:
        concept = phrases.ENLARGED[concept]
    return Draft(concept, said, start, end)


def _assertions(words: list[str], parts: list[_Part], bits: int) -> tuple[dict[int, int], set[int]]:
    """By part what is said of it, and the parts that state an organ's look.

    Two shapes that many sentences have need no rules: a list of findings, and a denied list ("no effusion or
    pneumothorax").
    """
    if not bits & _SPEAKING:
        return {
            index: UNCERTAIN if meaning.entry.weak else _OPPOSITE[POSITIVE] if meaning.reversed else POSITIVE
            for index, (meaning, _, _) in enumerate(parts)
            if meaning.bits & _NAMED == _NAMED and meaning.entry is not None
        }, set()
    if not bits & _BEYOND_A_DENIED_LIST and _denies_once(parts):
        return {
            index: POSITIVE if meaning.reversed else NEGATIVE
            for index, (meaning, _, _) in enumerate(parts)
            if meaning.bits & _NAMED == _NAMED
        }, set()
    return _by_rules(words, parts)


def _denies_once(parts: list[_Part]) -> bool:
    """Whether a sentence is a denied list: "no A or B", "there is no A", "no A is seen"."""
    first, last = 0, len(parts)
    if parts[0][0].bits & _STOP:
        first = 1
    if last > 2 and parts[-1][0].bits & _SEEN and parts[-2][0].bits & _VERB:
        last -= 2
    if first >= last or not parts[first][0].bits & _DENIES:
        return False
    return not any(part[0].bits & _NO_LIST for part in parts[first + 1 : last])


def _by_rules(words: list[str], parts: list[_Part]) -> tuple[dict[int, int], set[int]]:
    """What the labeler's rules say of the parts."""
    items: list[Item] = []
    of: list[int] = []
    for index, (meaning, start, end) in enumerate(parts):
        entry = meaning.entry
        if entry is None or (entry.kind is ORGAN and _is_place(words, start)):
            continue
        if entry.kind is NORMAL and _looks_at_a_mention(words, items, start):
            continue
        items.append(Item(entry, start, end))
        of.append(index)
    said_of: dict[int, int] = {}
    looks: set[int] = set()
    for item, said, size in statements(items):
        meaning = parts[of[item]][0]
        if size is None:
            if meaning.concept:
                said_of[of[item]] = _OPPOSITE.get(said, said) if meaning.reversed else said
        elif _of_another(items, item, size):
            continue
        elif said == NEGATIVE or meaning.concept in phrases.ENLARGED:
            said_of[of[item]] = said
            looks.add(of[size])
    return said_of, looks


def _of_another(items: list[Item], organ: int, size: int) -> bool:
    """Whether a size before an organ is said of another one ("the heart is large and the aorta ...")."""
    between = items[size + 1 : organ]
    return any(item.kind is AND for item in between) and any(item.kind is VERB for item in items[:size])


def _looks_at_a_mention(words: list[str], items: list[Item], start: int) -> bool:
    """Whether a look is said of a finding: "wires are intact" denies no wires."""
    return len(items) > 1 and items[-1].kind is VERB and items[-2].kind is MENTION and words[start] in _LOOKS


def _is_place(words: list[str], start: int) -> bool:
    """Whether an organ is the place of something else, after a preposition."""
    before = start - 1
    while before >= 0 and words[before] in _BEFORE_ORGANS:
        before -= 1
    return before >= 0 and words[before] in _PREPOSITIONS


def _with_measurements(sentence: str, parts: list[_Part]) -> list[_Part]:
    """The phrases with the measurements among them."""
    found = list(parts)
    for meaning, at in meanings(sentence):
        place = len(tokens(sentence[:at]))
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
        parts: list[_Part],
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
        if not qualities.COMPARISONS.isdisjoint(self._words):
            for draft in self._found:
                draft.compared = True
        return self._found

    def _name(self, meaning: Meaning, said: int, start: int, end: int) -> None:
        """A finding is named, or an organ's size or look is stated."""
        concept = meaning.concept
        assert meaning.entry is not None
        if meaning.entry.kind is ORGAN and said != NEGATIVE:
            concept = phrases.ENLARGED.get(concept, concept)
        draft = Draft(concept, said, start, end, [meaning])
        last = self._last
        if last is not None and self._open and last.concept == "calcification":
            self._found.pop()
            draft.before += [*last.before, *last.after]
            draft.concept = _WHEN_CALCIFIED.get(concept, concept)
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
            draft.plural |= any(word in qualities.PAIRED for word in self._spelled[start:end])
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
        return bool(meaning.tip) and before is not None and before.concept in qualities.WITH_TIPS

    def _earlier_device(self, concept: str) -> Draft | None:
        """The line or tube that a tip in the clause belongs to, where its finding cannot have one."""
        earlier = self._earlier
        if earlier is None or concept in qualities.WITH_TIPS or earlier.concept not in qualities.WITH_TIPS:
            return None
        return earlier if any(one.tip for one in self._orphans) else None

    def _explains(self, last: Draft | None, draft: Draft) -> bool:
        """Whether a finding behind a comma says what the one before it is."""
        return (
            self._comma
            and last is not None
            and last.said != NEGATIVE
            and last.concept in qualities.OPACITIES
            and draft.concept in qualities.EXPLANATIONS
        )

    def _blunts(self, last: Draft | None, draft: Draft) -> bool:
        """Whether a finding blunts the angle beside it ("right effusion blunting the costophrenic angle")."""
        return (
            last is not None
            and last.said != NEGATIVE
            and last.concept in qualities.BLUNTING
            and draft.joined is None
            and last.end == draft.start
            and draft.concept == "blunted_costophrenic_angle"
        )

    def _place(self, meaning: Meaning, start: int, end: int) -> None:
        """An organ of which no look is stated: a finding's place, or the subject of its clause."""
        self._quality(meaning, start, end)
        if _is_place(self._words, start):
            return
        if self._last is not None and self._open:
            self._give(self._last)
        else:
            self._organ = True

    def _quality(self, meaning: Meaning, start: int, end: int) -> None:
        """A quality, of a finding that is yet to be found."""
        self._pending.append(meaning)
        if meaning.regions and any(word in qualities.PAIRED for word in self._spelled[start:end]):
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
        if self._words[start] == "of" and start and self._words[start - 1] in qualities.AMOUNTS:
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
                _lend(found[i].after, found[i - 1], found[i].plural)
                _lend_degree_and_change(found[i].after, found[i - 1])
        for before, draft in itertools.pairwise(found):
            if draft.joined is EITHER:
                where = [one for one in before.before[1:] if one.sides or one.regions]
                where += [one for one in before.before[:1] if one.regions and one.regions <= qualities.LUNG]
                _lend(where, draft, before.plural)
            elif draft.joined is AND and before.said == draft.said:
                _lend([one for one in before.before if one.sides], draft, before.plural)


_WHEN_CALCIFIED: Final = {
    "nodule": "calcified_granuloma",
    "granuloma": "calcified_granuloma",
    "granulomatous_disease": "granulomatous_disease",
    "adenopathy": "calcified_lymph_node",
    "hilar_adenopathy": "calcified_lymph_node",
    "mediastinal_adenopathy": "calcified_lymph_node",
    "pleural_plaque": "pleural_calcification",
    "pleural_thickening": "pleural_calcification",
    "tortuous_aorta": "tortuous_aorta",
}


def _lend_degree_and_change(lent: Iterable[Meaning], draft: Draft) -> None:
    """Give what is said at a list's end of all of it ("the effusion and the edema are unchanged")."""
    own = [*draft.before, *draft.after]
    graded = any(one.severity is not None for one in own)
    changed = any(one.change for one in own)
    for one in lent:
        if one.sides or one.regions or one.tip or one.size_mm is not None:
            continue
        if (one.change and not changed) or (one.severity is not None and not graded):
            draft.after.append(one)


def _lend(lent: Iterable[Meaning], draft: Draft, plural: bool) -> None:
    """Give sides and places to a finding that has none."""
    own = [*draft.before, *draft.after]
    if any(one.sides or one.regions for one in own):
        return
    draft.after += [one for one in lent if one.sides or one.regions]
    draft.plural |= plural
