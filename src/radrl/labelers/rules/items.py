"""The items of a sentence: what a phrase of the lexicon stands for, and where it was found."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Kind(enum.IntEnum):
    """The part an item plays in its sentence."""

    MENTION = enum.auto()  # a finding: present unless its sentence says otherwise
    ORGAN = enum.auto()  # heart or mediastinum: says nothing until a size is stated of it
    ENLARGED = enum.auto()
    BORDERLINE = enum.auto()
    NORMAL = enum.auto()
    DENY = enum.auto()  # denies what follows
    DENY_BACK = enum.auto()  # denies what precedes
    HEDGE = enum.auto()  # makes what follows uncertain
    HEDGE_LIST = enum.auto()  # hedges all of a list: "may represent A, mild B and C"
    HEDGE_BACK = enum.auto()
    OPEN = enum.auto()  # "cannot exclude": uncertain whatever denial is near
    OPEN_BACK = enum.auto()
    EITHER = enum.auto()  # or, versus, slash
    AND = enum.auto()
    COMMA = enum.auto()
    VERB = enum.auto()  # finite verb: one clause has one
    SEEN = enum.auto()  # predicate without content ("is seen"), closes a denied list
    CHANGE = enum.auto()  # "no change" denies the change, not the finding
    QUALIFIER = enum.auto()  # opens a new noun phrase after a comma ("no effusion, mild edema")
    STOP = enum.auto()  # ends every scope
    IGNORED = enum.auto()  # shadows a phrase that looks like a mention or a cue
    ASKED = enum.auto()  # "evaluate for": a question, which says nothing of what follows
    ASKED_BACK = enum.auto()  # "must be ruled out": one that says nothing of what precedes


(
    MENTION,
    ORGAN,
    ENLARGED,
    BORDERLINE,
    NORMAL,
    DENY,
    DENY_BACK,
    HEDGE,
    HEDGE_LIST,
    HEDGE_BACK,
    OPEN,
    OPEN_BACK,
    EITHER,
    AND,
    COMMA,
    VERB,
    SEEN,
    CHANGE,
    QUALIFIER,
    STOP,
    IGNORED,
    ASKED,
    ASKED_BACK,
) = Kind
"""The same by names of their own: to look one up in the enumeration takes longer than to compare it."""


class Entry(NamedTuple):
    """What a phrase stands for.

    Args:
        kind: its part in the sentence.
        observations: indices into `radrl.observations.OBSERVATIONS`; No Finding's stands for the other
            findings that CheXpert collects under that name (emphysema, scoliosis, ...).
        weak: uncertain at most, however firmly the phrase is asserted ("vascular congestion" for Edema).
        implied: indices that are uncertain where the phrase is not denied ("heart failure": Cardiomegaly).
    """

    kind: Kind
    observations: tuple[int, ...] = ()
    weak: bool = False
    implied: tuple[int, ...] = ()


class Item(NamedTuple):
    """A phrase found in a sentence: tokens ``start`` to ``end`` (exclusive)."""

    entry: Entry
    start: int
    end: int

    @property
    def kind(self) -> Kind:
        """The part the item plays."""
        return self.entry.kind
