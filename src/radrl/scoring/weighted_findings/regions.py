"""How far apart the places are that two reports give one finding."""

from __future__ import annotations

import csv
import io
from functools import cache
from importlib.resources import files
from typing import Final

_VAGUE: Final = frozenset({"lung"})
"""Says nothing of where in a lung."""


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
