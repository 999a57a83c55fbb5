"""What a report says, as what is matched: one entity a finding and side, each with its weight.

A report says one thing in several ways: "opacity at the right base, consistent with pneumonia" is one finding
of two names, "bilateral effusions" is a left and a right one. Both reports are brought into one form before
they are compared:

- What is denied, and what has resolved, is no entity: a denial earns and costs nothing of its own.
- A finding of both sides is one of each side.
- A finding that another one of the report is a kind of (opacity beside pneumonia), at no other place, is that
  other one under a wider name; signs (blunting beside effusion) go the other way. The entity takes over side,
  regions, severity, size and change that it lacks, and weighs what the heavier of the two does.
- Each further entity of one concept adds a share of its weight only (`costs.csv`: again).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from radrl.scoring.weighted_findings.conditions import Context
from radrl.scoring.weighted_findings.finding import Finding
from radrl.scoring.weighted_findings.places import apart
from radrl.scoring.weighted_findings.tables import Tables

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


@dataclass(slots=True)
class Entity:
    """A finding at one side.

    Args:
        concept: its narrowest name.
        weight: what it costs to miss it, or to invent it.
        side: left, right, or empty where nothing is said.
        finding: its attributes, those that wider names lend it among them.
        wider: other names of it in the report.
        sources: the findings that it was made from.
    """

    concept: str
    weight: float
    side: str
    finding: Finding
    wider: tuple[str, ...] = ()
    sources: tuple[Finding, ...] = ()


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
            found += [Entity(one.concept, weight, side, one, (), (one,)) for side in (one.sides or _NO_SIDE)]
    if len(found) > 1:
        found.sort(key=_order)
        found = _joined(found, tables)
        spread(found, tables.costs["again"])
    return found


_NO_SIDE: Final = ("",)


def _order(entity: Entity) -> tuple[str, ...]:
    one = entity.finding
    return (
        entity.concept,
        entity.side,
        *sorted(one.regions),
        str((one.severity, one.size_mm, one.change, one.tip, one.tip_mm, one.certainty)),
    )


def spread(found: Sequence[Entity], again: float) -> None:
    """Let each further entity of one concept add a share of its weight, spread over all of them.

    Args:
        found: entities, whose weights are changed.
        again: the share.
    """
    counts = Counter(entity.concept for entity in found)
    for entity in found:
        if (count := counts[entity.concept]) > 1:
            entity.weight *= (1 + again * (count - 1)) / count


def _joined(found: Sequence[Entity], tables: Tables) -> list[Entity]:
    """Entities without those that others of them name more narrowly."""
    kept = list(found)
    for wide in found:
        into = [one for one in kept if one is not wide and _names(one, wide, tables)]
        if into:
            best = max(range(len(into)), key=lambda i: (into[i].side == wide.side, into[i].weight, -i))
            _join(into[best], wide)
            kept.remove(wide)
    return kept


def _names(one: Entity, wide: Entity, tables: Tables) -> bool:
    """Whether an entity names another one more narrowly, or is what the other is a sign of."""
    if wide.concept in SIGNS:
        kin = one.concept in tables.ancestors[wide.concept]
    else:
        kin = wide.concept in tables.ancestors[one.concept] and one.concept not in SIGNS
    return (
        kin
        and (not one.side or not wide.side or one.side == wide.side)
        and not apart(one.finding.regions, wide.finding.regions)
    )


def _join(entity: Entity, wide: Entity) -> None:
    own, other = entity.finding, wide.finding
    entity.side = entity.side or wide.side
    entity.finding = replace(
        own,
        regions=own.regions or other.regions,
        severity=other.severity if own.severity is None else own.severity,
        size_mm=other.size_mm if own.size_mm is None else own.size_mm,
        change=own.change or other.change,
        tip=own.tip or other.tip,
        tip_mm=other.tip_mm if own.tip_mm is None else own.tip_mm,
    )
    entity.weight = max(entity.weight, wide.weight)
    entity.wider = (*entity.wider, wide.concept, *wide.wider)
    entity.sources = (*entity.sources, *(one for one in wide.sources if one not in entity.sources))
