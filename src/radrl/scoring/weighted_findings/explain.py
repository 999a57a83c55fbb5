"""A comparison in rows and in words: each cost with the words that it was read from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from radrl.scoring.weighted_findings.entities import Entity
from radrl.scoring.weighted_findings.matching import Comparison, Match

COLUMNS: Final = (
    "kind",
    "finding",
    "generated_as",
    "weight",
    "cost",
    "faults",
    "reference_words",
    "hypothesis_words",
)
"""Of a row; `finding` is that of the reference, or of a false finding the hypothesis's."""

_SILENCE: Final = "nothing is stated, neither findings nor that there are none"


def rows(comparison: Comparison, reference: str, hypothesis: str) -> list[dict[str, Any]]:
    """The lines of a comparison.

    Args:
        comparison: of the two reports.
        reference: the text that was compared.
        hypothesis: as well.

    Returns:
        A row a line, by `COLUMNS`; what does not apply is empty.
    """
    return [_row(match, reference, hypothesis) for match in comparison.matches]


def _row(match: Match, reference: str, hypothesis: str) -> dict[str, Any]:
    known, said = match.reference, match.hypothesis
    return {
        "kind": match.kind,
        "finding": _named(known or said),
        "generated_as": _named(said) if known and said and known.concept != said.concept else "",
        "weight": round(match.weight, 4),
        "cost": round(match.cost, 4),
        "faults": "; ".join(f"{fault.what} {fault.cost:.3f}" for fault in match.faults),
        "reference_words": _words(known, reference),
        "hypothesis_words": _words(said, hypothesis),
    }


def _named(entity: Entity | None) -> str:
    return " ".join(filter(None, (entity.side, entity.concept.replace("_", " ")))) if entity else ""


def _words(entity: Entity | None, report: str) -> str:
    """What an entity was read from."""
    start, end = entity.finding.span if entity else (0, 0)
    return " ".join(report[start:end].split())


def lines(comparison: Comparison, reference: str, hypothesis: str) -> Iterator[str]:
    """A comparison in words.

    Args:
        comparison: of the two reports.
        reference: the text that was compared.
        hypothesis: as well.

    Yields:
        The score, then a line for everything that both state.
    """
    yield (
        f"score {comparison.score:.3f}: missed {comparison.missed:.3f}, false {comparison.false:.3f}, "
        f"inexact {comparison.inexact:.3f}, of {comparison.total:.3f} that both state"
    )
    for row in rows(comparison, reference, hypothesis):
        if row["kind"] == "silent":
            yield f"  silent   {row['cost']:.3f}  {_SILENCE}"
            continue
        name = row["finding"] + (f", said as {row['generated_as']}" if row["generated_as"] else "")
        words = " | ".join(
            f"{side}: “{row[key]}”"
            for side, key in (("reference", "reference_words"), ("generated", "hypothesis_words"))
            if row[key]
        )
        faults = f" ({row['faults']})" if row["faults"] else ""
        yield f"  {row['kind']:8} {row['cost']:.3f}  {name}{faults}" + (f"  {words}" if words else "")
