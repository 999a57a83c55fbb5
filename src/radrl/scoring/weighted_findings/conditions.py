"""Conditions of the table of weights: what of a finding, or of the patient, a row asks for."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from radrl.scoring.weighted_findings.finding import SEVERITIES, Finding


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of the patient beside the film.

    Args:
        age: in years; None where nobody said it.
        indication: why the film was taken, in lower case; empty where nobody said it.
    """

    age: float | None = None
    indication: str = ""


UNKNOWN: Final = Context()

Condition = Callable[[Finding, Context], bool]

_CLAUSE: Final = re.compile(r"([a-z_]+)(<=|>=|<|>|=)(\S+)")
_ORDER: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
}  # fmt: skip
_NUMBERS: Final[dict[str, Callable[[Finding, Context], float | None]]] = {
    "age": lambda finding, context: context.age,
    "severity": lambda finding, context: finding.severity,
    "size_mm": lambda finding, context: finding.size_mm,
    "tip_mm": lambda finding, context: finding.tip_mm,
}
_WORDS: Final[dict[str, Callable[[Finding, Context], frozenset[str]]]] = {
    "change": lambda finding, context: frozenset((finding.change,) if finding.change else ()),
    "tip": lambda finding, context: frozenset((finding.tip,) if finding.tip else ()),
    "side": lambda finding, context: frozenset(finding.sides),
    "region": lambda finding, context: finding.regions,
}

_AGE: Final = re.compile(
    r"\b(\d{1,3})\s*-?\s*(?:years?(?:\s*-?\s*old)|y\.?\s?/?\s?o\b)|\baged?:?\s+(\d{1,3})\b", re.IGNORECASE
)
_INDICATION: Final = re.compile(
    r"\b(?:indication|history|reason for exam(?:ination)?|clinical information)s?\s*:\s*(.*?)"
    r"(?=\n\s*\n|\b(?:technique|comparison|findings|impression|exam(?:ination)?|views?)\s*:|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TOLD: Final = ("year", "yo", "y/o", "y.o", "age", "indication", "history", "reason", "information")


def condition(said: str) -> Condition:
    """A condition from its words.

    Args:
        said: clauses parted by blanks, all of which must hold: ``severity>=large``, ``size_mm<6``,
            ``age>=65``, ``change=new|increased``, ``tip=esophagus``, ``side=left``, ``region=apex`` or
            ``indication=trauma|fall``, whose words are looked for at the start of words. Empty holds always.
            What a report does not say fulfils no clause.

    Returns:
        Whether it holds for a finding and a patient.

    Raises:
        ValueError: when a clause is none.

    Example:
        >>> condition("severity>=moderate")(Finding("pleural_effusion", severity=3), UNKNOWN)
        True
    """
    clauses = [_clause(clause) for clause in said.split()]
    if len(clauses) == 1:  # as nearly all are
        return clauses[0]
    return lambda finding, context: all(holds(finding, context) for holds in clauses)


def _clause(clause: str) -> Condition:
    found = _CLAUSE.fullmatch(clause)
    valid = ", ".join((*_NUMBERS, *_WORDS, "indication"))
    if found is None or found[1] not in (*_NUMBERS, *_WORDS, "indication"):
        raise ValueError(f"{clause!r} is no condition; write such as severity>=large or age<40, of {valid}")
    name, sign, value = found.groups()
    if name in _NUMBERS:
        return _of_number(_NUMBERS[name], _ORDER[sign], _number(name, value))
    if sign != "=":
        raise ValueError(f"{clause!r}: {name} is compared by = alone")
    words = value.split("|")
    if name == "indication":
        pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, words)) + ")")
        return lambda finding, context: pattern.search(context.indication) is not None
    said, wanted = _WORDS[name], frozenset(words)
    return lambda finding, context: not wanted.isdisjoint(said(finding, context))


def _of_number(
    said: Callable[[Finding, Context], float | None], holds: Callable[[float, float], bool], bound: float
) -> Condition:
    def check(finding: Finding, context: Context) -> bool:
        value = said(finding, context)
        return value is not None and holds(value, bound)

    return check


def _number(name: str, value: str) -> float:
    if name == "severity" and value in SEVERITIES:
        return SEVERITIES.index(value)
    try:
        return float(value)
    except ValueError:
        also = f", or one of {', '.join(SEVERITIES)}" if name == "severity" else ""
        raise ValueError(f"{value!r} is no {name}; give a number{also}") from None


def context_of(report: str) -> Context:
    """What a report itself says of its patient.

    Args:
        report: raw text; its section INDICATION, HISTORY or REASON FOR EXAM is read, and an age anywhere.

    Returns:
        Age and indication, as far as they are said.

    Example:
        >>> context_of("INDICATION: 85-year-old man after a fall. FINDINGS: No fracture.").age
        85.0
    """
    lower = report.lower()
    if not any(word in lower for word in _TOLD):
        return UNKNOWN
    age, indication = _AGE.search(lower), _INDICATION.search(lower)
    years = float(age[1] or age[2]) if age else None
    return Context(
        years if years is None or years <= 120 else None, indication[1].strip() if indication else ""
    )
