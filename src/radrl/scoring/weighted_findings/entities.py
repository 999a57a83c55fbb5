"""What a report says, as what is matched: one entity a finding and side, each with its weight.

A report says one thing in several ways: "opacity at the right base, consistent with pneumonia" is one finding
of two names, "bilateral effusions" is a left and a right one. Both reports are brought into one form before
they are compared:

- What is denied, and what has resolved, is no entity: a denial earns and costs nothing of its own.
- A finding of both sides is one of each side, and each further entity of one concept adds a share of its
  weight only (`costs.csv`: again).
- A finding that another one of the report is a kind of (opacity beside pneumonia), at no other place, weighs
  only what it weighs more than that one: both together weigh what the heavier does. So does a sign beside
  what it is a sign of (a blunted angle beside an effusion). One finding takes such weight from one other
  alone, and with it the severity, size and change that it does not state itself; a wider name without a
  place is where the narrower one is; and how far
the attributes of two differ: places, degrees, sizes, changes, tips.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Final

from radrl.scoring.weighted_findings import Finding
from radrl.scoring.weighted_findings.tables import Context, Tables, ancestors, own_rows

_VAGUE: Final = frozenset({"lung"})
"""Says nothing of where in a lung."""

_CHANGES: Final = {"resolved": -2.0, "decreased": -1.0, "unchanged": 0.0, "increased": 1.0, "new": 1.5}
"""Changes on a line; two steps apart is as wrong as can be."""

_ALIKE_MM: Final = math.log2(8 / 7)
"""Sizes within a seventh of each other are one."""

SIGNS: Final = frozenset(
    {
        "blunted_costophrenic_angle",
        "fissural_fluid",
        "vascular_congestion",
        "kerley_lines",
        "vascular_crowding",
        "flattened_diaphragm",
        "volume_loss",
        "osteophyte",
        "chamber_enlargement",
    }
)
"""Concepts that are signs of their parents rather than kinds of them."""
DIFFUSE: Final = frozenset(
    {
        "pulmonary_edema",
        "interstitial_edema",
        "alveolar_edema",
        "interstitial_pattern",
        "interstitial_lung_disease",
        "pulmonary_fibrosis",
    }
)
"""Concepts that are in both lungs where no side is said."""
_NO_SIDE: Final = ("",)


@cache
def _lines() -> dict[str, tuple[str, ...]]:
    """By region, itself and what it lies in, from the nearest on."""
    parents = {row["region"]: row["parent"] for row in own_rows("regions.csv")}
    return {region: (region, *ancestors(region, parents)) for region in parents}


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


@dataclass(slots=True)
class Entity:
    """A finding at one side.

    Args:
        weight: what it costs to miss it, or to invent it.
        side: left, right, or empty where nothing is said.
        finding: what was read.
        narrower: of a wider name or a sign, the finding of the same report that it took weight from.
    """

    weight: float
    side: str
    finding: Finding
    narrower: Entity | None = None

    @property
    def concept(self) -> str:
        """What it is."""
        return self.finding.concept


def entities(findings: Iterable[Finding], tables: Tables, context: Context) -> list[Entity]:
    """What a report asserts.

    Args:
        findings: of the report.
        tables: of weights and costs.
        context: of the patient.

    Returns:
        Entities in an order that does not hang on that of the report.
    """
    hedged = tables.costs["hedged"]
    found = []
    for one in findings:
        if one.present and one.change != "resolved":
            weight = tables.weight(one, context)
            weight = weight if one.certainty == "certain" else weight * hedged
            found += [Entity(weight, side, one) for side in (one.sides or _NO_SIDE)]
    if len(found) > 1:
        names = {(one.finding.concept, one.side): one for one in found}
        if len(names) == len(found):  # as nearly always
            found = [names[name] for name in sorted(names)]
        else:
            found.sort(key=_order)
        spread(found, tables.costs["again"])
        _lighten(found, tables)
    return found


def _order(entity: Entity) -> tuple[str, ...]:
    one = entity.finding
    rest = (one.severity, one.size_mm, one.change, one.tip, one.tip_mm, one.certainty)
    return (one.concept, entity.side, *sorted(one.regions), str(rest))


def spread(found: Sequence[Entity], again: float) -> None:
    """Let each further entity of one concept add a share of its weight, spread over all of them.

    Args:
        found: entities, whose weights are changed.
        again: the share.
    """
    if len({entity.finding.concept for entity in found}) < len(found):
        counts = Counter(entity.finding.concept for entity in found)
        for entity in found:
            count = counts[entity.finding.concept]
            entity.weight *= (1 + again * (count - 1)) / count


def _lighten(found: Sequence[Entity], tables: Tables) -> None:
    """Take from wider names and signs what the narrower ones beside them weigh."""
    line = tables.lines
    concepts = {entity.finding.concept for entity in found}
    if concepts.isdisjoint(SIGNS) and concepts.isdisjoint(
        chain.from_iterable(map(line.__getitem__, concepts))
    ):
        return
    weights = [
        entity.weight for entity in found
    ]  # as they were, so that a chain weighs what its heaviest does
    given: set[int] = set()
    for wide in sorted(found, key=lambda one: len(line[one.finding.concept])):
        near = [
            (_steps(one, wide, tables), one.side != wide.side, -weights[i], i)
            for i, one in enumerate(found)
            if i not in given and one is not wide and _steps(one, wide, tables) and together(one, wide)
        ]
        if near:
            narrow = min(near)[-1]
            given.add(narrow)
            wide.narrower = found[narrow]
            wide.weight = max(0.0, wide.weight - weights[narrow])
            _lend(wide.finding, found[narrow])
            if (
                wide.weight
                and sum(one.finding.concept == found[narrow].finding.concept for one in found) == 1
            ):
                _place(wide, found[narrow])


def _lend(wide: Finding, to: Entity) -> None:
    """Give what a wider name states of a finding to the narrower one, where that does not state it."""
    own = to.finding
    said = (
        wide.severity if own.severity is None else own.severity,
        wide.size_mm if own.size_mm is None else own.size_mm,
        own.change or wide.change,
    )
    if said != (own.severity, own.size_mm, own.change):
        to.finding = replace(own, severity=said[0], size_mm=said[1], change=said[2])


def _place(wide: Entity, narrow: Entity) -> None:
    """Put a wider name that has neither side nor region where the narrower one has it."""
    if not wide.side and not wide.finding.regions:
        wide.side = narrow.side
        wide.finding = replace(wide.finding, regions=narrow.finding.regions)


def _steps(one: Entity, wide: Entity, tables: Tables) -> int:
    """How many steps a concept is narrower than another, or than that is a sign of; 0 where it is not."""
    name, other = one.finding.concept, wide.finding.concept
    line = tables.lines[name]
    if other in SIGNS:
        parent = tables.lines[other][0]
        return (
            0 if name in SIGNS else 1 if name == parent else line.index(parent) + 2 if parent in line else 0
        )
    return line.index(other) + 1 if other in line and name not in SIGNS else 0


def together(one: Entity, other: Entity) -> bool:
    """Whether two entities may be at one place; an opacity of one side is not the edema of both lungs."""
    if one.side != other.side and ((one.side and other.side) or one.finding.concept in DIFFUSE):
        return False
    return not disagreement(one.finding.regions, other.finding.regions)
