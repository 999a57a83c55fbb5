"""What a sentence asserts of each observation: present, absent or uncertain, by the reach of its cues.

A cue reaches forward or backward over the items of its clause. A denial runs on through a list ("no
consolidation, effusion or pneumothorax") and ends where a new statement begins: at "but", "with", "which",
at a finite verb, or at a comma or "and" that a new subject with its own verb follows, or a noun phrase with
an article, a side or a severity. The size words of heart and mediastinum are looked up from the organ: they
stand right before it ("mildly enlarged heart") or in its predicate ("the heart and mediastinum are
normal"). Of what a question asks for ("evaluate for pneumonia", "must be ruled out") a sentence asserts
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from radrl.labelers.rules import (
    AND,
    ASKED,
    ASKED_BACK,
    BORDERLINE,
    CHANGE,
    COMMA,
    DENY,
    DENY_BACK,
    EITHER,
    ENLARGED,
    HEDGE,
    HEDGE_BACK,
    HEDGE_LIST,
    MENTION,
    NORMAL,
    OPEN,
    OPEN_BACK,
    ORGAN,
    QUALIFIER,
    SEEN,
    STOP,
    VERB,
    Entry,
    Item,
    Kind,
    find,
    tokens,
)
from radrl.observations import BLANK, NEGATIVE, POSITIVE, UNCERTAIN

Claim = tuple[int, int]
"""An observation index and its class (positive, negative or uncertain)."""

_NAMED: Final = frozenset({MENTION, ORGAN})
_SIZES: Final = frozenset({ENLARGED, BORDERLINE, NORMAL})
_JOINTS: Final = frozenset({COMMA, AND})
_OPENERS: Final = frozenset(
    {
        QUALIFIER,
        ORGAN,
        HEDGE,
        HEDGE_LIST,
        DENY,
        OPEN,
        NORMAL,
        BORDERLINE,
    }
)
_CLOSERS: Final = frozenset({SEEN, DENY_BACK, HEDGE_BACK, OPEN_BACK, ASKED_BACK})
_CUES: Final = frozenset(
    {
        DENY,
        DENY_BACK,
        NORMAL,
        ASKED,
        ASKED_BACK,
        HEDGE,
        HEDGE_LIST,
        HEDGE_BACK,
        OPEN,
        OPEN_BACK,
    }
)
_STATEMENTS: Final = frozenset({VERB, DENY, SEEN, NORMAL, ENLARGED, BORDERLINE})
_CHANGE_REACH: Final = 4
"""Tokens between "no" and "change" in "no significant interval change"."""
_ADJECTIVE_REACH: Final = 2
"""Tokens between a size and the organ it qualifies ("enlarged [and globular] heart")."""


class Statement(NamedTuple):
    """What a sentence says of one of its mentions or organs.

    Args:
        item: index of the mention or organ among the sentence's items.
        said: its class (positive, negative or uncertain); for an organ whether it is enlarged.
        size: index of the size word said of an organ; nothing for a mention.
    """

    item: int
    said: int
    size: int | None


def claims(sentence: str, alternatives: int = UNCERTAIN) -> tuple[Claim, ...]:
    """What one sentence claims.

    Args:
        sentence: lower case, without its full stop.
        alternatives: class of the two sides of an "or" that nothing else hedges.

    Returns:
        (observation, class) pairs in the order of the sentence; an observation may stand in several.
    """
    items = find(tokens(sentence))
    return tuple(
        claim
        for statement in statements(items, alternatives)
        for claim in _claims_of(items[statement.item].entry, statement.said)
    )


def statements(items: list[Item], alternatives: int = UNCERTAIN) -> Iterator[Statement]:
    """What a sentence says of each mention, and of each organ that has a size.

    Args:
        items: of one sentence, in its order; a caller may bring mentions, organs and sizes of its own.
        alternatives: class of the two sides of an "or" that nothing else hedges.

    Yields:
        Statements in the order of the sentence; none of what a question asks for.
    """
    if not _names_something(items, range(len(items))):
        return
    reach = _reach(items)
    for i, item in enumerate(items):
        if item.kind is MENTION:
            said, at = reach.mention(i, alternatives), None
            said = UNCERTAIN if item.entry.weak and said == POSITIVE else said
        elif item.kind is ORGAN and (at := _size(items, i)) is not None:
            said = reach.size(items[at].kind, at, alternatives)
        else:
            continue
        if said != BLANK:
            yield Statement(i, said, at)


class _Reach(NamedTuple):
    """Indices of the items that a sentence's questions, denials, hedges, open ends and alternatives reach."""

    asked: set[int]
    denied: set[int]
    hedged: set[int]
    open: set[int]
    either: set[int]

    def mention(self, i: int, alternatives: int) -> int:
        """The class of mention ``i``: the first of these that reaches it; blank for a question."""
        if i in self.open:
            return UNCERTAIN
        if i in self.asked:
            return BLANK
        if i in self.denied:
            return NEGATIVE
        if i in self.hedged:
            return UNCERTAIN
        return alternatives if i in self.either else POSITIVE

    def size(self, kind: Kind, i: int, alternatives: int) -> int:
        """The class that size word ``i`` gives its organ; "normal or enlarged" is an alternative."""
        said = self.mention(i, alternatives)
        if said == BLANK:
            return BLANK
        if kind is NORMAL and i not in self.either:
            return NEGATIVE if said == POSITIVE else UNCERTAIN
        return UNCERTAIN if kind is BORDERLINE and said == POSITIVE else said


def _claims_of(entry: Entry, said: int) -> Iterator[Claim]:
    """The claims of a mention or organ asserted as ``said``, with what a mention implies."""
    for observation in entry.observations:
        yield observation, said
    if said != NEGATIVE:
        for observation in entry.implied:
            yield observation, UNCERTAIN


def _reach(items: list[Item]) -> _Reach:
    """What the cues of a sentence reach."""
    reach = _Reach(set(), set(), set(), set(), _alternatives(items))
    for i, item in enumerate(items):
        kind = item.kind
        if kind not in _CUES:
            continue
        if kind is DENY and _denies_a_change(items, i):
            reach.either.difference_update(_forward(items, i))
        elif kind is DENY:
            reach.denied.update(_forward(items, i))
        elif kind is DENY_BACK:
            reach.denied.update(_either_way(items, i))
        elif kind is NORMAL:
            reach.denied.update(_normal_subject(items, i))
        elif kind is ASKED:
            reach.asked.update(_asked_for(items, i))
        elif kind is ASKED_BACK:
            reach.asked.update(_either_way(items, i))
        elif kind in (HEDGE, HEDGE_LIST):
            reach.hedged.update(_forward(items, i))
        elif kind is HEDGE_BACK:
            reach.hedged.update(_either_way(items, i))
        elif kind is OPEN:
            ahead = list(_forward(items, i))
            reach.open.update(ahead if _names_something(items, ahead) else _backward(items, i))
        elif kind is OPEN_BACK:
            reach.open.update(_either_way(items, i))
    return reach


def _asked_for(items: list[Item], i: int) -> list[int]:
    """The reach of the question at ``i``, unless "which is" goes on about its finding as there."""
    reach = list(_forward(items, i))
    last = reach[-1] if reach else i
    goes_on = [item.kind for item in items[last : last + 3]] == [MENTION, STOP, VERB]
    return [] if goes_on and items[last + 1].end == items[last + 2].start else reach


def _names_something(items: list[Item], reach: Iterable[int]) -> bool:
    """Whether a reach holds a mention or an organ."""
    return any(items[j].kind in _NAMED for j in reach)


def _denies_a_change(items: list[Item], i: int) -> bool:
    """Whether the denial at ``i`` speaks of a change ("no change in the effusion") and not of a finding."""
    for later in items[i + 1 :]:
        if later.start - items[i].end >= _CHANGE_REACH or later.kind in _NAMED | {EITHER, STOP}:
            return False
        if later.kind is CHANGE:
            return True
    return False


def _forward(items: list[Item], i: int) -> Iterator[int]:
    """Indices of the items after cue ``i`` within its reach."""
    lists = items[i].kind is HEDGE_LIST
    for j in range(i + 1, len(items)):
        kind = items[j].kind
        if kind in (STOP, VERB) or (kind in _JOINTS and _new_statement(items, j, lists)):
            return
        yield j


def _new_statement(items: list[Item], joint: int, lists: bool = False) -> bool:
    """Whether a new statement, and not one more part of a list, begins after a comma or "and".

    A cue that ``lists`` runs on over noun phrases with an article or a severity.
    """
    rest = items[joint + 1 :]
    if not rest:
        return False
    if joint and items[joint - 1].kind is SEEN:
        return True
    opens = rest[0].kind in _OPENERS and rest[0].start == items[joint].end
    if opens and not (rest[0].kind is QUALIFIER and (lists or _list_goes_on(rest))):
        return True
    for k, item in enumerate(rest):
        if item.kind is VERB:
            return not (k + 1 < len(rest) and rest[k + 1].kind in _CLOSERS)
        if item.kind in _JOINTS or item.kind is STOP:
            return False
    return False


def _list_goes_on(rest: list[Item]) -> bool:
    """Whether an "or" still follows in the list ("no pneumothorax, large effusion, or consolidation")."""
    for item in rest:
        if item.kind is EITHER:
            return True
        if item.kind in (VERB, STOP, DENY):
            return False
    return False


def _backward(items: list[Item], i: int) -> Iterator[int]:
    """Indices of the items before cue ``i`` that it is the predicate of."""
    subject_seen = False
    for j in range(i - 1, -1, -1):
        kind = items[j].kind
        if kind is STOP or (kind is VERB and subject_seen):
            return
        if kind in _JOINTS and _states_something(items, j):
            return
        subject_seen |= kind in _NAMED
        yield j


def _states_something(items: list[Item], joint: int) -> bool:
    """Whether the piece before a comma or "and" is a statement of its own."""
    for item in reversed(items[:joint]):
        if item.kind in _STATEMENTS:
            return True
        if item.kind in _JOINTS or item.kind is STOP:
            return False
    return False


def _either_way(items: list[Item], i: int) -> list[int]:
    """The reach of a predicate cue: its subject, or where it has none what follows ("resolved effusion")."""
    before = list(_backward(items, i))
    return before if _names_something(items, before) else list(_forward(items, i))


def _normal_subject(items: list[Item], i: int) -> Iterator[int]:
    """Mentions that are the subject of "is normal" ("vascular congestion is within normal limits")."""
    if not (i and items[i - 1].kind is VERB):
        return
    for j in range(i - 2, -1, -1):
        if items[j].kind is not MENTION:
            return
        yield j


def _alternatives(items: list[Item]) -> set[int]:
    """Indices of mentions and sizes offered as alternatives ("atelectasis or pneumonia")."""
    found: set[int] = set()
    for i, item in enumerate(items):
        if item.kind is EITHER:
            left, right = _nearest(items, range(i - 1, -1, -1)), _nearest(items, range(i + 1, len(items)))
            if left is not None and right is not None:
                found |= {left, right}
    return found


def _nearest(items: list[Item], order: range) -> int | None:
    """The first mention or size met before anything that parts the two sides of an "or"."""
    for j in order:
        if items[j].kind is MENTION or items[j].kind in _SIZES:
            return j
        if items[j].kind in (STOP, VERB, COMMA, SEEN):
            return None
    return None


def _size(items: list[Item], organ: int) -> int | None:
    """Index of the size word said of an organ, or nothing when none is."""
    before = _size_before(items, organ)
    return _size_after(items, organ) if before is None else before


def _size_before(items: list[Item], organ: int) -> int | None:
    """A size that qualifies the organ as an adjective or in "enlargement of the heart"."""
    edge = items[organ].start
    for j in range(organ - 1, -1, -1):
        item = items[j]
        if edge - item.end > _ADJECTIVE_REACH:
            return None
        if item.kind in _SIZES:
            return j
        if item.kind not in (QUALIFIER, ORGAN, AND):
            return None
        edge = item.start
    return None


def _size_after(items: list[Item], organ: int) -> int | None:
    """A size in the organ's predicate, across the rest of a compound subject and one finite verb."""
    verb = False
    for j in range(organ + 1, len(items)):
        kind = items[j].kind
        if kind in _SIZES:
            return j
        if kind is STOP or (kind is VERB and verb):
            return None
        if verb and kind in _JOINTS and _new_statement(items, j):
            return None
        verb |= kind is VERB
    return None
