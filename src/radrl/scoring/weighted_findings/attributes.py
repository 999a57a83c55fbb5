"""How far the attributes of two findings differ: places, degrees, sizes, changes, tips."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Final

from radrl.scoring.weighted_findings import Finding

_VAGUE: Final = frozenset({"lung"})
"""Says nothing of where in a lung."""

_CHANGES: Final = {"resolved": -2.0, "decreased": -1.0, "unchanged": 0.0, "increased": 1.0, "new": 1.5}
"""Changes on a line; two steps apart is as wrong as can be."""

_ALIKE_MM: Final = math.log2(8 / 7)
"""Sizes within a seventh of each other are one."""


@cache
def _lines() -> dict[str, tuple[str, ...]]:
    """By region, itself and what it lies in, from the nearest on."""
    text = files(__package__).joinpath("regions.csv").read_text(encoding="utf-8")
    parents = {row["region"]: row["parent"] for row in csv.DictReader(io.StringIO(text))}
    lines = {}
    for region in parents:
        line = [region]
        while parent := parents[line[-1]]:
            line.append(parent)
        lines[region] = tuple(line)
    return lines


@cache
def may_be_one(one: str, other: str) -> bool:
    """Whether two regions may be one place: one lies in the other, or both in one zone or organ.

    Args:
        one: a name of `regions.csv`.
        other: as well.
    """
    a, b = _lines()[one], _lines()[other]
    if one in b or other in a:
        return True
    shared = set(a) & set(b) - _VAGUE
    return bool(shared) and a[1] == b[1]


@cache
def share_missing(of: frozenset[str], among: frozenset[str]) -> float:
    """The share of one report's regions that the other one does not name, where both name any.

    Args:
        of: the regions of one.
        among: those of the other.

    Returns:
        From 0 to 1; regions of organs that the other says nothing of do not count.
    """
    roots = {_lines()[region][-1] for region in among}
    told = [region for region in of - _VAGUE if _lines()[region][-1] in roots]
    lost = sum(not any(may_be_one(region, other) for other in among) for region in told)
    return lost / len(told) if told else 0.0


@cache
def disagreement(one: frozenset[str], other: frozenset[str]) -> float:
    """How far the regions of two findings disagree: the larger of what each names and the other does not.

    Args:
        one: regions of a finding.
        other: those of another.

    Returns:
        0 where they agree, or one says nothing; 1 where they have no place in common.
    """
    return max(share_missing(one, other), share_missing(other, one)) if one and other else 0.0


@cache
def say_where(regions: frozenset[str]) -> bool:
    """Whether regions say where."""
    return bool(regions - _VAGUE)


@cache
def tips_differ(tip: str, other: str) -> bool:
    """Whether two ends of a tube are two places."""
    a, b = _lines()[tip], _lines()[other]
    return tip not in b and other not in a


def same(a: Finding, b: Finding) -> bool:
    """Whether two findings differ in nothing but their names and sides."""
    return (
        a.regions == b.regions
        and a.severity == b.severity
        and a.size_mm == b.size_mm
        and a.change == b.change
        and a.tip == b.tip
        and a.tip_mm == b.tip_mm
        and a.certainty == b.certainty
    )


def differing(a: Finding, b: Finding, unstated: float) -> dict[str, float]:
    """How far each attribute of two findings differs, from 0 to 1.

    Args:
        a: one finding.
        b: the other.
        unstated: of what one of them says and the other does not.
    """
    return {
        "region": _of_regions(a, b, unstated),
        "severity": _of_numbers(a.severity, b.severity, unstated, _of_ranks),
        "size": _of_numbers(a.size_mm, b.size_mm, unstated, _of_sizes),
        "change": _of_changes(a.change, b.change, unstated),
        "tip": _of_tips(a, b, unstated),
        "certainty": float(a.certainty != b.certainty),
    }


def unless_same(one: str, other: str, unstated: float) -> float:
    """How far two words differ: not where they are equal, wholly where both are said."""
    if one == other:
        return 0.0
    return 1.0 if one and other else unstated


def _of_regions(a: Finding, b: Finding, unstated: float) -> float:
    if a.regions == b.regions:
        return 0.0
    told = say_where(a.regions), say_where(b.regions)
    if all(told):
        return disagreement(a.regions, b.regions)
    return unstated if any(told) else 0.0


def _of_numbers(
    a: float | None, b: float | None, unstated: float, differ: Callable[[float, float], float]
) -> float:
    if a is None or b is None:
        return 0.0 if a == b else unstated
    return differ(a, b)


def _of_ranks(a: float, b: float) -> float:
    return abs(a - b) / 3


def _of_sizes(a: float, b: float) -> float:
    if a <= 0 or b <= 0:
        return float(a != b)
    return min(1.0, max(0.0, (abs(math.log2(a / b)) - _ALIKE_MM) / (1 - _ALIKE_MM)))


def _of_changes(a: str | None, b: str | None, unstated: float) -> float:
    """Nothing where one says that nothing has changed and the other compares nothing."""
    if a is None or b is None:
        return unstated if (a or b) not in (None, "unchanged") else 0.0
    return min(1.0, abs(_CHANGES[a] - _CHANGES[b]) / 2)


def _of_tips(a: Finding, b: Finding, unstated: float) -> float:
    """Where a tube ends, and how far from there: the first centimetre apart is none, three are all."""
    if a.tip is None or b.tip is None:
        return 0.0 if a.tip == b.tip else unstated
    if tips_differ(a.tip, b.tip):
        return 1.0
    if a.tip_mm is None or b.tip_mm is None:
        return 0.0
    return min(1.0, max(0.0, (abs(a.tip_mm - b.tip_mm) - 10) / 20))
