"""What one sentence asserts, denies or hedges of what it names, by the rule labeler's rules.

Two shapes that many sentences have need no rules: a list of findings, and a denied list. A finding
that the sentence names is a draft until what belongs to it is settled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from radrl.labelers.rules import (
    AND,
    CHANGE,
    COMMA,
    DENY,
    EITHER,
    IGNORED,
    MENTION,
    NORMAL,
    ORGAN,
    QUALIFIER,
    SEEN,
    STOP,
    VERB,
    Item,
    Kind,
)
from radrl.labelers.rules.assertion import statements
from radrl.observations import NEGATIVE, POSITIVE, UNCERTAIN
from radrl.scoring.rules import is_place
from radrl.scoring.weighted_findings import vocabulary
from radrl.scoring.weighted_findings.lexicon import (
    NAMES,
    PARTS,
    SAYS,
    Meaning,
    bit,
)

_LOOKS: Final = frozenset({"clear", "intact", "sharp", "midline", "preserved", "maintained"})
Part = tuple[Meaning, int, int]
"""What a phrase says, its first token, and the token after its last."""
_NORMAL: Final = bit(NORMAL)
_VERB: Final = bit(VERB)
BEYOND_NORMAL_ORGANS: Final = PARTS | bit(*Kind) & ~bit(ORGAN, QUALIFIER, AND, COMMA, VERB, NORMAL)
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
_LIST: Final = bit(MENTION, COMMA, AND, EITHER)
_STOP: Final = bit(STOP)
_SEEN: Final = bit(SEEN)
_NO_LIST: Final = bit(*Kind) & ~_LIST
_BEYOND_A_DENIED_LIST: Final = _NO_LIST & ~(_DENIES | _STOP | _SEEN | _VERB)
"""Parts that no denied list has."""
_OPPOSITE: Final = {POSITIVE: NEGATIVE, NEGATIVE: POSITIVE}
WHEN_CALCIFIED: Final = {
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
"""What a calcified one is called."""


def all_normal(parts: list[Part]) -> bool:
    """Whether a sentence says of organs alone that they are normal ("heart and hila are normal")."""
    if len(parts) < 3 or not parts[-1][0].bits & _NORMAL or not parts[-2][0].bits & _VERB:
        return False
    for meaning, _, _ in parts[:-2]:
        bits = meaning.bits
        if bits & _SAID_OR_DONE and (bits & (_NORMAL | _VERB) or not bits & NAMES):
            return False
    return True


def assertions(words: list[str], parts: list[Part], bits: int) -> tuple[dict[int, int], set[int]]:
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
    return by_rules(words, parts)


def _denies_once(parts: list[Part]) -> bool:
    """Whether a sentence is a denied list: "no A or B", "there is no A", "no A is seen"."""
    first, last = 0, len(parts)
    if parts[0][0].bits & _STOP:
        first = 1
    if last > 2 and parts[-1][0].bits & _SEEN and parts[-2][0].bits & _VERB:
        last -= 2
    if first >= last or not parts[first][0].bits & _DENIES:
        return False
    return not any(part[0].bits & _NO_LIST for part in parts[first + 1 : last])


def by_rules(words: list[str], parts: list[Part]) -> tuple[dict[int, int], set[int]]:
    """What the labeler's rules say of the parts."""
    items: list[Item] = []
    of: list[int] = []
    for index, (meaning, start, end) in enumerate(parts):
        entry = meaning.entry
        if entry is None or (entry.kind is ORGAN and is_place(words, start)):
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
        elif said == NEGATIVE or meaning.concept in vocabulary.ENLARGED:
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


def lend_degree_and_change(lent: Iterable[Meaning], draft: Draft) -> None:
    """Give what is said at a list's end of all of it ("the effusion and the edema are unchanged")."""
    own = [*draft.before, *draft.after]
    graded = any(one.severity is not None for one in own)
    changed = any(one.change for one in own)
    for one in lent:
        if one.sides or one.regions or one.tip or one.size_mm is not None:
            continue
        if (one.change and not changed) or (one.severity is not None and not graded):
            draft.after.append(one)


def lend(lent: Iterable[Meaning], draft: Draft, plural: bool) -> None:
    """Give sides and places to a finding that has none."""
    own = [*draft.before, *draft.after]
    if any(one.sides or one.regions for one in own):
        return
    draft.after += [one for one in lent if one.sides or one.regions]
    draft.plural |= plural
