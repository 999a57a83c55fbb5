"""The instruction that asks for a report, with places for what is known of a study besides its films.

    Indication: {indication|none given}. Age: {age|unknown}. Before: {prior:60|none}. Write the findings.

A place is the name of what stands there, at most how many words of it, and the words that stand there where
it is not known. An instruction without a place is the same for every study.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from radrl.parts.choices import near

PLACES: Final = ("indication", "age", "prior")
"""Why the study was asked for; the patient's age in years; the report of the patient's study before it."""

WORDS: Final = 100
"""Most words of a text whose place says no number: as many as a long report has."""

MISSING: Final = "not given"
"""What stands in a place that says nothing else."""

Known = Mapping[str, str | int | None]
"""By place what is known of a study; a place that is absent or null is not known."""

_FORM: Final = "{name}, {name:60}, {name|words where it is missing}; a brace of the text is doubled"
_PARTS: Final = re.compile(
    r"(?P<double>\{\{|\}\})|\{(?P<name>\w+)(?::(?P<words>[1-9]\d*))?(?:\|(?P<missing>[^{}]*))?\}|(?P<lone>[{}])"
)
_MARK: Final = re.compile(r"<(?=\S)")


class Place(NamedTuple):
    """A place of an instruction.

    Args:
        name: one of `PLACES`.
        words: at most so many of what stands there.
        missing: stands there where it is not known.
    """

    name: str
    words: int
    missing: str


def places(template: str) -> list[Place]:
    """The places of an instruction, in order.

    Args:
        template: the instruction.

    Raises:
        ValueError: a place has an unknown name, or a brace belongs to none.

    Example:
        >>> places("Age {age|unknown}, before: {prior:60}")
        [Place(name='age', words=100, missing='unknown'), Place(name='prior', words=60, missing='not given')]
    """
    return [_place(part) for part in _PARTS.finditer(template) if not part["double"]]


def fill(template: str, known: Known) -> str:
    """Put what is known of a study into an instruction.

    Args:
        template: the instruction.
        known: of the study.

    Returns:
        The instruction in whole words: of a text its first ones, with single blanks. A blank after each `<`
        keeps a text from holding a mark of the policy's tokenizer, such as the one that stands for a film.

    Raises:
        ValueError: as `places`.

    Example:
        >>> fill("Age {age|unknown}. Before: {prior:2}.", {"prior": "No effusion seen."})
        'Age unknown. Before: No effusion.'
    """

    def said(part: re.Match[str]) -> str:
        if part["double"]:
            return part["double"][0]
        place = _place(part)
        value = known.get(place.name)
        words = [] if value is None else str(value).split()
        return _MARK.sub("< ", " ".join(words[: place.words])) if words else place.missing

    return _PARTS.sub(said, template)


def require_places(template: str, names: Iterable[str]) -> None:
    """Refuse what an instruction would not use.

    Args:
        template: the instruction.
        names: of places that something is known for.

    Raises:
        ValueError: it has no such place.
    """
    there = dict.fromkeys(place.name for place in places(template))
    for name in names:
        if name not in there:
            raise ValueError(
                f"the prompt has no place {{{name}}} (it has {', '.join(there) or 'none'}), so {name} would "
                "not be read; leave it out, or take an arm that was trained with it"
            )


def longest(template: str, word: str = "opacity") -> str:
    """An instruction in which every text is as long as its place lets it be, for counts of tokens.

    Args:
        template: the instruction.
        word: that texts are made of.
    """
    most = max((place.words for place in places(template)), default=0)
    text = " ".join([word] * most)
    return fill(template, {"indication": text, "age": 100, "prior": text})


def _place(part: re.Match[str]) -> Place:
    name = part["name"]
    if name is None:
        raise ValueError(f"{part['lone']!r} belongs to no place; places are written {_FORM}")
    if name not in PLACES:
        raise ValueError(f"there is no place {{{name}}}{near(name, PLACES)} Places: {', '.join(PLACES)}")
    missing = part["missing"]
    return Place(name, int(part["words"] or WORDS), MISSING if missing is None else missing.strip())
