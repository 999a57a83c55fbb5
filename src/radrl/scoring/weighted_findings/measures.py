"""What a sentence measures: sizes of today and of an earlier film, shares, angles, the heart's ratio.

A size that an earlier film had is no size of the finding; it says how that has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from radrl.labelers.rules import BORDERLINE, ENLARGED, NORMAL, Entry, Kind
from radrl.scoring.weighted_findings import Change
from radrl.scoring.weighted_findings.lexicon import Meaning

_NUMBERS: Final = {
    "half": 0.5, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0,
    "eight": 8.0, "nine": 9.0, "ten": 10.0,
}  # fmt: skip
_MEASURE: Final = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?|half(?: an?)?|" + "|".join([*_NUMBERS][1:]) + r")"
    r"(?:\s*(cm|mm|centimet\w*|millimet\w*)?\s*(?:x|by|-|to)\s*(\d+(?:\.\d+)?))?"
    r"(?:\s*(?:x|by)\s*(\d+(?:\.\d+)?))?"
    r"\s*-?\s*(cm|mm|centimet|millimet)"
)
_EARLIER: Final = re.compile(
    r"\b(?:previously|formerly|earlier|prior|was|were|from|against|versus|vs|compared to|compared with)"
    r"(?: (?:measured|measuring|size|of|at|about|approximately|the|a|an|study|film|value))*[ :(]*$"
)
_GREW: Final = re.compile(r"\bfrom (?:about |approximately )?$")
_ALIKE: Final = 8 / 7


class Measurement(NamedTuple):
    """A size in a sentence.

    Args:
        size_mm: its largest dimension.
        at: the character where it begins.
        before: the size on an earlier film that it is compared with; nothing where there is none.
    """

    size_mm: float
    at: int
    before: float | None = None

    @property
    def change(self) -> Change | None:
        """How the size has changed: by more than a seventh, or not."""
        if self.before is None:
            return None
        if max(self.size_mm, self.before) <= _ALIKE * min(self.size_mm, self.before):
            return "unchanged"
        return "increased" if self.size_mm > self.before else "decreased"


def measurements(sentence: str) -> list[Measurement]:
    """The measurements of a sentence.

    Args:
        sentence: in lower case.

    Returns:
        Sizes of today, in their order. What is said of an earlier film ("12 mm, previously 8 mm") goes with
        the one before it, or with the first; a sentence that has no other size is taken to speak of today.
    """
    today: list[Measurement] = []
    earlier: list[tuple[float, int]] = []
    for match in _MEASURE.finditer(sentence):
        first, unit, second, third, last = match.groups()
        sizes = [_size(number) for number in (first, second, third) if number]
        before, at = sentence[: match.start()], match.start()
        scale = 10.0 if last[0] == "c" else 1.0
        if second and _GREW.search(before) and "to" in match[0].split():  # "from 8 to 12 mm"
            its = scale if unit is None else 10.0 if unit[0] == "c" else 1.0
            earlier.append((sizes[0] * its, at))
            today.append(Measurement(sizes[1] * scale, at))
        elif _EARLIER.search(before):
            earlier.append((max(sizes) * scale, at))
        else:
            today.append(Measurement(max(sizes) * scale, at))
    if not today:
        return [Measurement(size, at) for size, at in earlier]
    for size, at in earlier:
        own = max((i for i, one in enumerate(today) if one.at < at), default=0)
        today[own] = today[own]._replace(before=size)
    return today


def _size(number: str) -> float:
    return _NUMBERS.get(number.split()[0]) or float(number)


_SHARE: Final = re.compile(
    r"(?<![\w.])(\d{1,3}(?:\.\d+)?)(?:\s*(?:-|to)\s*(\d{1,3}))?\s*(?:%|percent\b|per cent\b)"
)
_ANGLE: Final = re.compile(
    r"(?<![\w.])(\d{1,3}(?:\.\d+)?)(?:\s*(?:-|to)\s*(\d{1,3}))?\s*-?\s*(?:degree|\u00b0)"
)
_RATIO: Final = re.compile(
    r"\b(?:cardio ?thoracic|ct) ratio\b[^.;,\d]{0,40}?(?:(0?\.\d+)|(\d{2})\s*(?:%|percent\b|per cent\b))"
)
_HEART: Final = ((0.5, NORMAL, None), (0.52, BORDERLINE, 0), (0.55, ENLARGED, 1), (0.6, ENLARGED, 2))
"""Ratios of the heart's width to the chest's up to which it is normal, borderline, mildly, moderately so."""


def measures(sentence: str) -> bool:
    """Whether a sentence may measure anything.

    Args:
        sentence: in lower case.
    """
    return (
        "mm" in sentence
        or "cm" in sentence
        or "met" in sentence
        or "%" in sentence
        or "cent" in sentence
        or "degree" in sentence
        or "\u00b0" in sentence
        or "ratio" in sentence
    )


def meanings(sentence: str) -> Iterator[tuple[Meaning, int]]:
    """What the measurements of a sentence mean.

    Args:
        sentence: in lower case.

    Yields:
        (meaning, the character where it begins).
    """
    for one in measurements(sentence):
        yield _settled(size_mm=one.size_mm, change=one.change), one.at
    ratio = _RATIO.search(sentence)
    if ratio is not None:
        value = float(ratio[1]) if ratio[1] else float(ratio[2]) / 100
        kind, severity = next(((k, s) for most, k, s in _HEART if value <= most), (ENLARGED, 3))
        start = ratio.start(1 if ratio[1] else 2)
        yield _settled(kind=kind, severity=severity, percent=100 * value), start
    for match in _SHARE.finditer(sentence):
        if ratio is None or match.start() != ratio.start(2):
            yield _settled(percent=float(match[2] or match[1])), match.start()
    for match in _ANGLE.finditer(sentence):
        yield _settled(angle=float(match[2] or match[1])), match.start()


def _settled(
    *,
    size_mm: float | None = None,
    change: Change | None = None,
    percent: float | None = None,
    angle: float | None = None,
    kind: Kind | None = None,
    severity: int | None = None,
) -> Meaning:
    meaning = Meaning()
    meaning.size_mm, meaning.change, meaning.percent, meaning.angle = size_mm, change, percent, angle
    meaning.severity = severity
    meaning.entry = Entry(kind) if kind is not None else None
    meaning.settle()
    return meaning


PERCENT: Final = {
    "pneumothorax": (15.0, 60.0),
    "vertebral_fracture": (25.0, 40.0),
    "pleural_effusion": (25.0, 50.0),
}
"""By finding the share up to which it is small, and moderate: of the hemithorax, of a vertebra's height."""

ANGLES: Final = {"scoliosis": (25.0, 40.0), "kyphosis": (50.0, 70.0)}
"""By curvature the angle up to which it is mild, and moderate."""


def degree(concept: str, percent: float | None, angle: float | None) -> int | None:
    """The rank of severity that a measurement is for a finding.

    Args:
        concept: what is measured.
        percent: its share.
        angle: in degrees.

    Returns:
        1, 2 or 3 of `radrl.scoring.weighted_findings.SEVERITIES`; nothing where it measures nothing.
    """
    for value, bounds in ((percent, PERCENT.get(concept)), (angle, ANGLES.get(concept))):
        if value is not None and bounds is not None:
            return 1 + sum(value > bound for bound in bounds)
    return None
