"""The tables by which findings are weighed: clinical weights, costs of attributes, likeness of concepts.

All are data with a reason a row (`weights.csv`, `costs.csv`, `similarities.csv`), so that whoever disagrees
changes a row. The four classes of weight are those in which radiologists sort errors: what must be acted upon
at once, what changes treatment, what is true but changes nothing, what is expected or benign. The numbers are
judgements of this project's authors, made without any ratings to fit them to; no radiologist has set them.
"""

from __future__ import annotations

import csv
import io
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from radrl.parts.choices import near
from radrl.scoring import ScoringError
from radrl.scoring.weighted_findings import SEVERITIES, Finding

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
CLASSES: Final = ("urgent", "actionable", "not_actionable", "expected")
"""Names that stand for a weight, their values in `costs.csv`."""
_LEAST_LIKE: Final = 0.2
"""Kinds of kinds that are less alike than this are not alike."""
Overrides = Mapping[str, str | float]
_PARTS: Final = ("side", "region", "severity", "size", "change", "tip", "certainty")


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
        return _of_number(_NUMBERS[name], _ORDER[sign], _bound(name, value))
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


def _bound(name: str, value: str) -> float:
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


class Row(NamedTuple):
    """A row of a table of weights: a class or a number for a concept, where a condition holds."""

    concept: str
    when: str
    weight: str


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """All that weighing needs.

    Args:
        costs: by name, the numbers of `costs.csv`.
        weights: by concept, conditions and weights, of which the first that holds counts.
        plain: by concept, the weight where no condition can hold.
        like: by concept, how alike others are to it, in (0, 1]; itself 1.
        lines: by concept, what it is a kind of, the nearest first.
    """

    costs: Mapping[str, float]
    weights: Mapping[str, Sequence[tuple[Condition, float]]]
    plain: Mapping[str, float]
    like: Mapping[str, Mapping[str, float]]
    lines: Mapping[str, Sequence[str]]

    def weight(self, finding: Finding, context: Context) -> float:
        """What it costs to miss or to invent a finding, were it certain.

        Args:
            finding: as a report states it.
            context: of its patient.

        Returns:
            At least 0; 1 for what is urgent.
        """
        plain = self.plain.get(finding.concept)
        if plain is not None:
            return plain
        for holds, weight in self.weights[finding.concept]:
            if holds(finding, context):
                return weight
        raise AssertionError(f"the first row of {finding.concept} has a condition")


def tables(overrides: Overrides | str | Path | None = None) -> Tables:
    """The tables, changed as a user asks.

    Args:
        overrides: a CSV file with the columns concept, when and weight (more are passed over), or a mapping
            from ``concept`` or ``"concept condition"`` to a weight. A weight is a number of at least 0 or one
            of `CLASSES`. Rows without a condition replace all rows of their concept, others go before them.
            A name of `costs.csv` in a concept's place changes that cost.

    Returns:
        The tables.

    Raises:
        ScoringError: naming file and row, or key, and the mend.
    """
    if not overrides:
        return _built({}, ())
    if isinstance(overrides, Mapping):
        given = [
            ("eval.weighted_findings.weights", *_key(key), str(value)) for key, value in overrides.items()
        ]
    else:
        given = [(f"{overrides}, line {line}", *row) for line, row in _rows_of(Path(overrides))]
    return _changed(given)


@cache
def default() -> Tables:
    """The tables as they ship."""
    return tables()


def concepts() -> dict[str, str]:
    """By concept, its parent; empty for a root."""
    return {row["concept"]: row["parent"] for row in own_rows("concepts.csv")}


def reasons() -> list[dict[str, str]]:
    """The rows of `weights.csv`."""
    return own_rows("weights.csv")


def listed() -> str:
    """Weights and costs as they ship, as a file that `tables` takes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("concept", "when", "weight", "reason"))
    writer.writerows((row["name"], "", row["value"], row["reason"]) for row in own_rows("costs.csv"))
    writer.writerows(row.values() for row in reasons())
    return text.getvalue()


def _key(key: str) -> tuple[str, str]:
    concept, _, when = key.strip().partition(" ")
    return concept, when.strip()


def _rows_of(path: Path) -> Iterable[tuple[int, Row]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ScoringError(f"{path} cannot be read as a table of weights in UTF-8: {error}") from error
    reader = csv.DictReader(io.StringIO(text))
    if missing := {"concept", "weight"} - set(reader.fieldnames or ()):
        raise ScoringError(
            f"{path} has no column {' and no '.join(sorted(missing))}; give concept, when, weight and "
            "reason, as `radrl score --list-weights` prints them"
        )
    return [
        (reader.line_num, Row(*((row.get(name) or "").strip() for name in ("concept", "when", "weight"))))
        for row in reader
    ]


def _changed(given: Sequence[tuple[str, str, str, str]]) -> Tables:
    """The tables with what a user gives, each row after where it stands."""
    known, numbers = concepts(), {row["name"] for row in own_rows("costs.csv")}
    costs: dict[str, float] = {}
    rows: list[Row] = []
    for where, name, when, weight in given:
        if name in numbers:
            costs[name] = _cost(where, name, when, weight)
            continue
        if name not in known:
            guess = near(name, (*known, *numbers), otherwise="")
            raise ScoringError(f"{where}: there is no concept and no cost {name!r}{guess}")
        _check(where, when, weight)
        rows.append(Row(name, when, weight))
    return _built(costs, rows)


def _cost(where: str, name: str, when: str, value: str) -> float:
    number = _number(value)
    most = math.inf if name in (*CLASSES, "rest") else 2.0 if name in _PARTS else 1.0
    if number is None or when or not 0 <= number <= most or (name == "rest" and not number):
        bound = "above 0" if name == "rest" else "at least 0" if most == math.inf else f"from 0 to {most:g}"
        raise ScoringError(f"{where}: {name} is {value!r}; it is a number, {bound}, without a condition")
    return number


def _check(where: str, when: str, weight: str) -> None:
    number = _number(weight)
    if weight not in CLASSES and (number is None or number < 0):
        raise ScoringError(
            f"{where}: weight is {weight!r}; give one of {', '.join(CLASSES)}, or a number from 0 on"
        )
    try:
        condition(when)
    except ValueError as error:
        raise ScoringError(f"{where}: {error}") from error


def _number(said: str) -> float | None:
    try:
        number = float(said)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def own_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table that ships beside this module."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def _built(costs: Mapping[str, float], rows: Sequence[Row]) -> Tables:
    numbers = {row["name"]: float(row["value"]) for row in own_rows("costs.csv")} | dict(costs)
    parents = concepts()
    lines = {concept: ancestors(concept, parents) for concept in parents}
    shipped = [Row(one["concept"], one["when"], one["weight"]) for one in reasons()]
    by_concept = _by_concept(shipped, rows, lines)
    weights = {}
    for concept, line in lines.items():
        owner = next((one for one in (concept, *line) if one in by_concept), None)
        if owner is None:
            raise ScoringError(f"weights.csv has no row for {concept} and for nothing that it is a kind of")
        weights[concept] = [
            (condition(row.when), numbers[row.weight] if row.weight in numbers else float(row.weight))
            for row in reversed(by_concept[owner])
        ]
    plain = {concept: own[0][1] for concept, own in weights.items() if len(own) == 1}
    return Tables(numbers, weights, plain, _likeness(lines, numbers["parent"]), lines)


def _by_concept(
    shipped: Sequence[Row], own: Sequence[Row], lines: Mapping[str, Sequence[str]]
) -> dict[str, list[Row]]:
    """Rows by concept, of which the first has no condition; of those that hold the last counts."""
    found: dict[str, list[Row]] = {}
    for row in shipped:
        found.setdefault(row.concept, []).append(row)
    for row in own:
        if not row.when:
            found[row.concept] = [row]
    for row in own:
        if row.when:
            inherited = next((found[one] for one in (row.concept, *lines[row.concept]) if one in found), [])
            found[row.concept] = [*inherited, row]
    return found


def ancestors(name: str, parents: Mapping[str, str]) -> list[str]:
    """What a concept is a kind of, or a region lies in, the nearest first.

    Args:
        name: its name.
        parents: by name the nearest; empty for a root.
    """
    found: list[str] = []
    while parent := parents[name]:
        found.append(parent)
        name = parent
    return found


def _likeness(lines: Mapping[str, Sequence[str]], step: float) -> dict[str, dict[str, float]]:
    like = {concept: {concept: 1.0} for concept in lines}
    for concept, line in lines.items():
        for steps, ancestor in enumerate(line, 1):
            if (close := step**steps) >= _LEAST_LIKE:
                like[concept][ancestor] = like[ancestor][concept] = close
    for row in own_rows("similarities.csv"):
        one, other = row["concept"], row["other"]
        like[one][other] = like[other][one] = float(row["similarity"])
    return like
