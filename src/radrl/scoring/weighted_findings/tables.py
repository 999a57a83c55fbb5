"""The tables by which findings are weighed: clinical weights, costs of attributes, likeness of concepts.

All are data with a reason a row (`weights.csv`, `costs.csv`, `similarities.csv`), so that whoever disagrees
changes a row. The four classes of weight are those in which radiologists sort errors: what must be acted upon
at once, what changes treatment, what is true but changes nothing, what is expected or benign. The numbers are
judgements of this project's authors, made without any ratings to fit them to; no radiologist has set them.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from radrl.scoring.base import ScoringError
from radrl.scoring.weighted_findings.conditions import Condition, Context, condition
from radrl.scoring.weighted_findings.finding import Finding

CLASSES: Final = ("urgent", "actionable", "not_actionable", "expected")
"""Names that stand for a weight, their values in `costs.csv`."""

_LEAST_LIKE: Final = 0.2
"""Kinds of kinds that are less alike than this are not alike."""

Overrides = Mapping[str, str | float]


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
    return {row["concept"]: row["parent"] for row in _own("concepts.csv")}


def reasons() -> list[dict[str, str]]:
    """The rows of `weights.csv`."""
    return _own("weights.csv")


def listed() -> str:
    """Weights and costs as they ship, as a file that `tables` takes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("concept", "when", "weight", "reason"))
    writer.writerows((row["name"], "", row["value"], row["reason"]) for row in _own("costs.csv"))
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
    known, numbers = concepts(), {row["name"] for row in _own("costs.csv")}
    costs: dict[str, float] = {}
    rows: list[Row] = []
    for where, name, when, weight in given:
        if name in numbers:
            costs[name] = _cost(where, name, when, weight)
            continue
        if name not in known:
            close = difflib.get_close_matches(name, (*known, *numbers), n=1)
            guess = f"; did you mean {close[0]!r}?" if close else ""
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


_PARTS: Final = ("side", "region", "severity", "size", "change", "tip", "certainty")


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


def _own(name: str) -> list[dict[str, str]]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def _built(costs: Mapping[str, float], rows: Sequence[Row]) -> Tables:
    numbers = {row["name"]: float(row["value"]) for row in _own("costs.csv")} | dict(costs)
    parents = concepts()
    lines = {concept: _line(concept, parents) for concept in parents}
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


def _line(concept: str, parents: Mapping[str, str]) -> list[str]:
    """What a concept is a kind of, the nearest first."""
    found: list[str] = []
    while parent := parents[concept]:
        found.append(parent)
        concept = parent
    return found


def _likeness(lines: Mapping[str, Sequence[str]], step: float) -> dict[str, dict[str, float]]:
    like = {concept: {concept: 1.0} for concept in lines}
    for concept, line in lines.items():
        for steps, ancestor in enumerate(line, 1):
            if (close := step**steps) >= _LEAST_LIKE:
                like[concept][ancestor] = like[ancestor][concept] = close
    for row in _own("similarities.csv"):
        one, other = row["concept"], row["other"]
        like[one][other] = like[other][one] = float(row["similarity"])
    return like
