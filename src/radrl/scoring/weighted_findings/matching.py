"""Two reports' findings matched one to one, and what is missed, false or inexact, each with its cost.

With w the weights of the reference's entities, v those of the hypothesis's (`entities`), a pair of entities
of likeness s in (0, 1] whose wrong attributes cost the parts p of their weight (`costs.csv`) costs

    c = min(a w + b v, (1 - s) (a w + b v) + s sum(p) max(w, v))

and earns what both would cost alone, less c; an entity without a partner costs a w, or b v, and less where it
is a wider name of what the other report names more narrowly. The matching is the one that earns most, which
is the one that costs least. With C its cost and W = a sum(w) + b sum(v) the score is

    1 - C / (rest + W)

the share of what both reports say that is in error, where the film's normal remainder counts as `rest` that
both have right. So an error costs most in a short report, yet two reports that have everything wrong are told
apart by how much that is, which no F-measure does. a = 2 beta^2 / (1 + beta^2) and b = 2 / (1 + beta^2): at
beta 1 both are 1, above it a miss costs more than a false finding.

A hypothesis that states nothing at all, neither found nor normal, costs `rest` besides where the reference
states something, and so scores 0: silence is no normal report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple

import numpy as np

from radrl.scoring.weighted_findings import regions
from radrl.scoring.weighted_findings.conditions import UNKNOWN, Context
from radrl.scoring.weighted_findings.entities import Entity, entities, spread, together
from radrl.scoring.weighted_findings.finding import Finding
from radrl.scoring.weighted_findings.tables import Tables

Kind = Literal["matched", "missed", "false", "silent"]

_CHANGES: Final = {"resolved": -2.0, "decreased": -1.0, "unchanged": 0.0, "increased": 1.0, "new": 1.5}
"""Changes on a line; two steps apart is as wrong as can be."""

_ALIKE_MM: Final = math.log2(8 / 7)
"""Sizes within a seventh of each other are one."""

_SIDES: Final = ("left", "right")

_SHORT: Final = 5
"""Rows of a matching that are tried out; more go to scipy."""


class Fault(NamedTuple):
    """A wrong attribute, or a name that is only like the other: what it is, and what it costs."""

    what: str
    cost: float


class Match(NamedTuple):
    """One line of a comparison.

    Args:
        kind: matched, missed, false, or silent for a hypothesis that states nothing.
        cost: what it takes from the score, in weights.
        weight: of what is matched, that of the two on average.
        reference: what the reference says.
        hypothesis: what the hypothesis says.
        faults: where its cost comes from, of what is matched, or is said by another name in part.
    """

    kind: Kind
    cost: float
    weight: float
    reference: Entity | None = None
    hypothesis: Entity | None = None
    faults: tuple[Fault, ...] = ()


class Comparison(NamedTuple):
    """Two reports compared.

    Args:
        score: from 0 to 1.
        total: W, the weight of all that both state.
        missed: cost of what the hypothesis lacks.
        false: cost of what it invents.
        inexact: cost of what is matched and not quite right.
        matches: line by line, what is matched first.
    """

    score: float
    total: float
    missed: float
    false: float
    inexact: float
    matches: tuple[Match, ...]


def compare(
    reference: Sequence[Finding],
    hypothesis: Sequence[Finding],
    tables: Tables,
    *,
    context: Context = UNKNOWN,
    beta: float = 1.0,
) -> Comparison:
    """Compare two reports.

    Args:
        reference: findings of the true report, denied ones among them.
        hypothesis: findings of the generated report.
        tables: of weights and costs.
        context: of the patient.
        beta: above 1 a miss costs more than a false finding, below 1 less.

    Returns:
        Score, costs, and where they come from.
    """
    known, said = entities(reference, tables, context), entities(hypothesis, tables, context)
    if known and said:
        known, said = _sided(known, said, tables)
    miss, invent = 2 * beta**2 / (1 + beta**2), 2 / (1 + beta**2)
    total = math.fsum([*(miss * one.weight for one in known), *(invent * one.weight for one in said)])
    alone = lacking, beyond = _alone(known, said, tables, miss), _alone(said, known, tables, invent)
    pairs = _pairs(known, said, tables, (miss, invent), alone) if known and said else []
    matches = [
        Match("matched", cost, (known[i].weight + said[k].weight) / 2, known[i], said[k], faults)
        for i, k, cost, faults in pairs
    ]
    inexact = math.fsum(one.cost for one in matches)
    rows, columns = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    lost = [(one, cost) for i, (one, cost) in enumerate(zip(known, lacking, strict=True)) if i not in rows]
    over = [(one, cost) for k, (one, cost) in enumerate(zip(said, beyond, strict=True)) if k not in columns]
    matches += [
        Match("missed", cost, one.weight, one, faults=_in_part(cost, miss * one.weight))
        for one, cost in lost
        if one.weight
    ]
    matches += [
        Match("false", cost, one.weight, None, one, _in_part(cost, invent * one.weight))
        for one, cost in over
        if one.weight
    ]
    missed = math.fsum(cost for _, cost in lost)
    false = math.fsum(cost for _, cost in over)
    rest = tables.costs["rest"]
    if reference and not hypothesis:
        matches.append(Match("silent", rest, rest))
        return Comparison(0.0, total, missed, false, inexact, tuple(matches))
    cost = math.fsum((missed, false, inexact))
    return Comparison(max(0.0, 1 - cost / (rest + total)), total, missed, false, inexact, tuple(matches))


def _in_part(cost: float, whole: float) -> tuple[Fault, ...]:
    """Why something costs less than its weight."""
    return (Fault("said by another name in part", cost),) if cost < whole else ()


def _alone(own: Iterable[Entity], others: Sequence[Entity], tables: Tables, share: float) -> list[float]:
    """What each entity costs without a partner."""
    return [
        share * one.weight * (1 - _covered(one, one.narrower, others, tables))
        if one.narrower is not None and one.weight
        else share * one.weight
        for one in own
    ]


def _covered(one: Entity, narrower: Entity, others: Iterable[Entity], tables: Tables) -> float:
    """The share of a wider name that the other report says by naming what it is a name of.

    Args:
        one: the wider name.
        narrower: the finding that it is a name of.
        others: of the other report.
        tables: of likenesses.

    Returns:
        How like it is what the other report calls that finding there: "left pneumonia" says half of "left
        opacity, likely pneumonia".
    """
    name = one.finding.concept
    wide, narrow = tables.like[name], tables.like[narrower.finding.concept]
    return max(
        (
            wide[other.finding.concept]
            for other in others
            if other.finding.concept != name
            and other.finding.concept in wide
            and other.finding.concept in narrow
            and together(other, one)
        ),
        default=0.0,
    )


def _sided(known: list[Entity], said: list[Entity], tables: Tables) -> tuple[list[Entity], list[Entity]]:
    """What says no side and is on both in the other report is on both: diffuse edema, effusions."""
    return _as_in(known, said, tables), _as_in(said, known, tables)


def _as_in(one: list[Entity], other: Iterable[Entity], tables: Tables) -> list[Entity]:
    both = {entity.finding.concept for entity in one if not entity.side}
    for side in _SIDES if both else ():
        both &= {entity.finding.concept for entity in other if entity.side == side}
    if not both:
        return one
    counts: dict[str, int] = {}
    for entity in one:
        counts[entity.concept] = counts.get(entity.concept, 0) + 1
    result: list[Entity] = []
    for entity in one:
        if entity.concept in both and not entity.side and counts[entity.concept] == 1:
            twins = [replace(entity, side="left"), replace(entity, side="right")]
            spread(twins, tables.costs["again"])
            result += twins
        else:
            result.append(entity)
    return result


_Pair = tuple[int, int, float, tuple[Fault, ...]]


def _pairs(
    known: Sequence[Entity],
    said: Sequence[Entity],
    tables: Tables,
    shares: tuple[float, float],
    alone: tuple[Sequence[float], Sequence[float]],
) -> list[_Pair]:
    """The matching that earns most, as places in both lists, costs and faults.

    Args:
        known: of the reference.
        said: of the hypothesis.
        tables: of likenesses and costs.
        shares: what a miss and an invention cost of a weight.
        alone: what each entity of both costs without a partner.
    """
    miss, invent = shares
    gains: dict[tuple[int, int], float] = {}
    found: dict[tuple[int, int], tuple[float, tuple[Fault, ...]]] = {}
    like, costs = tables.like, tables.costs
    names = [other.finding.concept for other in said]
    for i, one in enumerate(known):
        alike = like[one.finding.concept]
        for k, name in enumerate(names):
            if name in alike:
                other, close = said[k], alike[name]
                whole = miss * one.weight + invent * other.weight
                faults = _faults(one, other, close, whole, costs)
                most = alone[0][i] + alone[1][k]
                cost = min(most, math.fsum(fault.cost for fault in faults)) if faults else 0.0
                if most > cost:
                    gains[i, k] = most - cost
                    found[i, k] = cost, faults
    return [(i, k, *found[i, k]) for i, k in _best(gains)]


def _faults(
    one: Entity, other: Entity, close: float, whole: float, costs: Mapping[str, float]
) -> tuple[Fault, ...]:
    """What is wrong with a pair, and what each thing costs.

    Args:
        one: of the reference.
        other: of the hypothesis.
        close: how alike their concepts are.
        whole: what it costs to have neither of them right.
        costs: by name.
    """
    a, b = one.finding, other.finding
    if close == 1.0 and one.side == other.side and _same(a, b):
        return ()
    heavy = close * max(one.weight, other.weight)
    parts = {
        "side": _unless_same(one.side, other.side, costs["unstated"]),
        "region": _of_regions(a, b, costs["unstated"]),
        "severity": _of_numbers(a.severity, b.severity, costs["unstated"], _of_ranks),
        "size": _of_numbers(a.size_mm, b.size_mm, costs["unstated"], _of_sizes),
        "change": _of_changes(a.change, b.change, costs["unstated"]),
        "tip": _of_tips(a, b, costs["unstated"]),
        "certainty": float(a.certainty != b.certainty),
    }
    faults = [Fault("name", (1 - close) * whole)] if close < 1 else []
    faults += [Fault(what, costs[what] * part * heavy) for what, part in parts.items() if part]
    return tuple(fault for fault in faults if fault.cost)


def _same(a: Finding, b: Finding) -> bool:
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


def _unless_same(one: str, other: str, unstated: float) -> float:
    if one == other:
        return 0.0
    return 1.0 if one and other else unstated


def _of_regions(a: Finding, b: Finding, unstated: float) -> float:
    if a.regions == b.regions:
        return 0.0
    told = regions.say_where(a.regions), regions.say_where(b.regions)
    if all(told):
        return regions.disagreement(a.regions, b.regions)
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
    if regions.tips_differ(a.tip, b.tip):
        return 1.0
    if a.tip_mm is None or b.tip_mm is None:
        return 0.0
    return min(1.0, max(0.0, (abs(a.tip_mm - b.tip_mm) - 10) / 20))


def _best(gains: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    """The one-to-one choice of pairs whose gains add up to most, in the order of their rows."""
    favourites: dict[int, tuple[float, int]] = {}
    for (i, k), gain in gains.items():
        if i not in favourites or (gain, -k) > favourites[i]:
            favourites[i] = gain, -k
    if len({k for _, k in favourites.values()}) == len(favourites):  # no two want the same, as nearly always
        return sorted((i, -k) for i, (_, k) in favourites.items())
    rows: dict[int, list[int]] = {}
    columns: dict[int, list[int]] = {}
    for i, k in gains:
        rows.setdefault(i, []).append(k)
        columns.setdefault(k, []).append(i)
    chosen: list[tuple[int, int]] = []
    seen: set[int] = set()
    for start in rows:
        if start in seen:
            continue
        group, others, new = {start}, set(), [start]
        while new:
            for k in rows[new.pop()]:
                if k not in others:
                    others.add(k)
                    fresh = [i for i in columns[k] if i not in group]
                    group.update(fresh)
                    new += fresh
        seen |= group
        chosen += _of_group(sorted(group), sorted(others), gains)
    return sorted(chosen)


def _of_group(
    rows: Sequence[int], columns: Sequence[int], gains: dict[tuple[int, int], float]
) -> list[tuple[int, int]]:
    """The best choice within rows and columns that hang together."""
    if len(rows) == len(columns) == 1:
        return [(rows[0], columns[0])]
    if len(rows) <= _SHORT and len(columns) <= _SHORT:
        return _tried(rows, frozenset(columns), gains)[1]
    from scipy.optimize import linear_sum_assignment

    table = np.array([[gains.get((i, k), 0.0) for k in columns] for i in rows])
    found = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    return [(rows[i], columns[k]) for i, k in found if (rows[i], columns[k]) in gains]


def _tried(
    rows: Sequence[int], free: frozenset[int], gains: dict[tuple[int, int], float]
) -> tuple[float, list[tuple[int, int]]]:
    """All choices tried out."""
    if not rows or not free:
        return 0.0, []
    first, rest = rows[0], rows[1:]
    best = _tried(rest, free, gains)
    for k in sorted(free):
        if (gain := gains.get((first, k))) is not None:
            total, pairs = _tried(rest, free - {k}, gains)
            if gain + total > best[0]:
                best = gain + total, [(first, k), *pairs]
    return best
