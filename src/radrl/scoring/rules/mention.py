"""A finding in a sentence: its name, its class, its attributes and the words they stand in."""

from __future__ import annotations

from typing import NamedTuple

from radrl.scoring.rules.attributes import Role


class Attribute(NamedTuple):
    """What tokens ``start`` to ``end`` (exclusive) say of a finding; ``denied`` where a "no" makes it so."""

    role: Role
    value: str
    start: int
    end: int
    denied: bool = False


class Mention(NamedTuple):
    """A finding named in a sentence, or an organ of which the sentence states no look.

    Args:
        name: of the finding; empty for an organ.
        said: its class (positive, negative or uncertain).
        start: first token of its phrase, or of the organ whose look is stated.
        end: the token after its last.
        look: tokens that state an organ's look ("normal", "clear"), as (start, end).
        normal: whether its words state normality, so that asserting them denies the finding.
        attributes: in the order of the sentence.
    """

    name: str
    said: int
    start: int
    end: int
    look: tuple[int, int] | None = None
    normal: bool = False
    attributes: tuple[Attribute, ...] = ()
