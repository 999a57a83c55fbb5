"""A finding as the words of a sentence name it, before what belongs to it is settled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from radrl.labelers.rules.lexicon import Kind
from radrl.scoring.weighted_findings.lexicon import Meaning

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
