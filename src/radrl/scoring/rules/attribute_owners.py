"""Which finding of a sentence an attribute belongs to.

To the one it stands before in a noun phrase ("small left effusion"), else to the last before it in its
clause ("the effusion is small", "opacity in the left base"), else to the next. What is said once of a list
is said of all its parts where it follows the list ("atelectasis and effusion in the left base"), and where
it precedes alternatives ("left basilar atelectasis or pneumonia").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from radrl.labelers.rules import Item, Kind
from radrl.scoring.rules import vocabulary as known
from radrl.scoring.rules.vocabulary import PLACELESS, SIDELESS, Attribute, Mention, Role

_JOINTS: Final = frozenset({Kind.COMMA, Kind.AND, Kind.EITHER})
_BLOCKS: Final = _JOINTS | {Kind.VERB, Kind.SEEN, Kind.STOP, Kind.DENY}
"""What does not stand between an adjective and its noun."""
_WHERE: Final = frozenset({Role.SIDE, Role.PLACE})


class AttributeOwners:
    """The mentions of one sentence, each asking for its attributes.

    Args:
        words: tokens of the sentence.
        items: what the labeler's rules make of them.
        mentions: in the order of the sentence.
    """

    def __init__(self, words: Sequence[str], items: Sequence[Item], mentions: Sequence[Mention]) -> None:
        self._words = words
        self._mentions = mentions
        self._kinds: list[Kind | None] = [None] * len(words)
        for item in items:
            self._kinds[item.start : item.end] = [item.kind] * (item.end - item.start)
        stops = [item.start for item in items if item.kind is Kind.STOP]
        self._clauses = [sum(stop <= k for stop in stops) for k in range(len(words))]
        self._relative = [False, *(words[stop] in ("which", "that") for stop in stops)]
        self._taken: set[int] = set()

    def share(self, attributes: Iterable[Attribute]) -> tuple[list[list[Attribute]], list[Attribute]]:
        """Give attributes to mentions.

        Args:
            attributes: of the sentence.

        Returns:
            Those of each mention, and those that belong to none; what says nothing of its mention (the side
            of a cardiomegaly) is left out.
        """
        attributes = list(attributes)
        self._taken = {k for attribute in attributes for k in range(attribute.start, attribute.end)}
        owned: list[list[Attribute]] = [[] for _ in self._mentions]
        loose: list[Attribute] = []
        for attribute in attributes:
            owner = self._owner(attribute)
            (loose if owner is None else owned[owner]).append(attribute)
        self._share_in_lists(owned)
        pairs = zip(self._mentions, owned, strict=True)
        return [[one for one in own if _may_say(mention, one)] for mention, own in pairs], loose

    def leads_to(self, start: int, end: int, *, lists: bool = False) -> bool:
        """Whether tokens before a mention leave what precedes them in its noun phrase.

        Args:
            start: the first of the tokens.
            end: the token after the last.
            lists: whether an "and" between adjectives may stand among them ("right middle and lower lobe").

        Returns:
            Whether they do.
        """
        for k in range(start, end):
            kind, word = self._kinds[k], self._words[k]
            if lists and kind in _JOINTS and k + 1 < end and k + 1 in self._taken:
                continue
            if word == "of" and self._words[k - 1] in known.AMOUNTS:
                continue
            if kind in _BLOCKS or word in known.PREPOSITIONS or word in known.LINKS:
                return False
        return True

    def _owner(self, attribute: Attribute) -> int | None:
        """Index of the mention that an attribute belongs to."""
        start, end = attribute.start, attribute.end
        mentions = [(i, m) for i, m in enumerate(self._mentions) if not self._qualifies_the_next(i)]
        for i, mention in mentions:
            if mention.start < end and start < mention.end:
                return i
        clause = self._clauses[start]
        here = [(i, m) for i, m in mentions if self._clauses[m.start] == clause]
        before = [i for i, m in here if m.end <= start]
        after = [i for i, m in here if m.start >= end]
        tied_back = bool(before) and self._stands_in_a_place(attribute)
        if after and not tied_back and self.leads_to(end, self._mentions[after[0]].start, lists=not before):
            return after[0]
        if before:
            return before[-1]
        earlier = [i for i, m in mentions if m.end <= start]
        if after and not (earlier and self._relative[clause]):
            return after[0]
        if earlier:
            return earlier[-1]
        return None if attribute.role is Role.CHANGE or not mentions else mentions[0][0]

    def _qualifies_the_next(self, i: int) -> bool:
        """Whether an organ of which nothing is said only qualifies a finding ("lung base scarring")."""
        if self._mentions[i].name or i + 1 == len(self._mentions):
            return False
        return self.leads_to(self._mentions[i].end, self._mentions[i + 1].start, lists=True)

    def _stands_in_a_place(self, attribute: Attribute) -> bool:
        """Whether a side or place follows a preposition ("at the left base")."""
        return attribute.role in _WHERE and self._word_before(attribute) in known.LOCATIVES

    def _word_before(self, attribute: Attribute) -> str:
        """The word before an attribute and its like."""
        k = attribute.start - 1
        while k >= 0 and (k in self._taken or self._words[k] in known.FILLERS):
            k -= 1
        return self._words[k] if k >= 0 else ""

    def _share_in_lists(self, owned: list[list[Attribute]]) -> None:
        chained = [self._chained(i) for i in range(len(self._mentions) - 1)]
        for i in reversed(range(len(chained))):
            if chained[i]:
                end = self._mentions[i + 1].end
                after = [one for one in owned[i + 1] if one.start >= end and self._word_before(one) != "of"]
                _lend(after, owned[i])
        for i, joint in enumerate(chained):
            if joint is Kind.EITHER:
                start = self._mentions[i].start
                _lend([one for one in owned[i] if one.end <= start and one.role in _WHERE], owned[i + 1])

    def _chained(self, i: int) -> Kind | None:
        """The joint between mention ``i`` and the next where they are parts of one list."""
        joint = None
        for k in range(self._mentions[i].end, self._mentions[i + 1].start):
            kind = self._kinds[k]
            if kind in _JOINTS:
                either = Kind.EITHER in (kind, joint) or self._words[k] == "/"
                joint = Kind.EITHER if either else kind
            elif k not in self._taken and self._words[k] not in known.FILLERS:
                return None
        return joint


def _lend(lent: Iterable[Attribute], own: list[Attribute]) -> None:
    """Give attributes to a mention that has none of their role."""
    roles = {attribute.role for attribute in own}
    own.extend(attribute for attribute in lent if attribute.role not in roles)


def _may_say(mention: Mention, attribute: Attribute) -> bool:
    """Whether an attribute can say something of a mention."""
    if mention.look and attribute.start < mention.look[1] and mention.look[0] < attribute.end:
        return False
    if attribute.role is Role.CHANGE:
        return not (mention.start <= attribute.start and attribute.end <= mention.end)
    if attribute.role is Role.SIDE:
        return mention.name not in SIDELESS
    return attribute.role is not Role.PLACE or mention.name not in PLACELESS
