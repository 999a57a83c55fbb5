"""The papers' rows that stand beside a study's: chosen by name, never mixed with what was measured here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from radrl.data.tables import BrokenRow, SourceError, open_table
from radrl.params.messages import ParamsError
from radrl.parts.choices import hint
from radrl.parts.section import Section

_COLUMNS: Final = ("paper", "table", "dataset", "protocol", "method", "rl_train_size", "metric", "value")


class PaperRow(Section):
    """A row of a paper's table, where its method alone does not tell it from the others."""

    method: str
    rl_train_size: str


class PaperTable(Section):
    """A paper's table: which of its rows and metrics stand beside which of ours.

    `rows` maps an arm, or `run.arm`, to the paper's method; `metrics` maps ours to the paper's. `others`
    names more of the paper's tables on the same data, whose rows are listed with those beside which no arm
    stands.
    """

    name: str
    table: str
    dataset: str
    metrics: Annotated[dict[str, str], Field(min_length=1)]
    rows: Annotated[dict[str, str | PaperRow], Field(min_length=1)]
    others: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OtherRows:
    """Rows of a paper's table that are listed below a study's own.

    Args:
        table: its paper and number.
        protocol: what its numbers are, in the paper's own words.
        rows: by method, the value by the paper's metric; a value it does not print is absent.
    """

    table: str
    protocol: str
    rows: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Published:
    """A paper's values for a study's arms.

    Args:
        paper: its name and table, or those of several tables.
        dataset: what the paper measured on.
        protocol: what the paper's numbers are, in its own words.
        metrics: by metric of ours, the paper's.
        rows: by (run, arm), the name of the paper's row.
        values: by (run, arm) and metric of ours, the paper's value; a value it does not print is absent.
        gains: likewise, the value minus that of the row beside the reference arm, where there is one.
        others: rows beside which no arm stands, other systems above all.
    """

    paper: str
    dataset: str
    protocol: str
    metrics: Mapping[str, str]
    rows: Mapping[tuple[str, str], str]
    values: Mapping[tuple[str, str], Mapping[str, float]]
    gains: Mapping[tuple[str, str], Mapping[str, float]]
    others: Sequence[OtherRows] = ()


def find(
    tables: Sequence[PaperTable],
    results: Path,
    arms: Mapping[str, Sequence[str]],
    metrics: Sequence[str],
    reference: str,
    *,
    where: str,
) -> Published | None:
    """Find a paper's rows, in one of its tables or in several.

    Args:
        tables: the section `paper` of a study file.
        results: the papers' results, a line a method and metric.
        arms: the study's arms by run.
        metrics: the study's metrics.
        reference: the arm that gains are taken from.
        where: begins the messages.

    Returns:
        The paper's values by run and arm; nothing where no table is named.

    Raises:
        ParamsError: when paper, table, data set, row or metric is none, a row stands beside no arm, or a
            metric of ours beside two tables.
    """
    places = [f"{where}: paper{f'[{i}]' if len(tables) > 1 else ''}" for i in range(len(tables))]
    for i, ours in ((i, ours) for i, table in enumerate(tables) for ours in table.metrics):
        if any(ours in other.metrics for other in tables[:i]):
            raise ParamsError(f"{places[i]}.metrics: {ours!r} stands beside another of the tables already")
    found = [
        _of_table(table, results, arms, metrics, reference, where=place)
        for table, place in zip(tables, places, strict=True)
    ]
    return _together(found) if found else None


def _of_table(
    table: PaperTable,
    results: Path,
    arms: Mapping[str, Sequence[str]],
    metrics: Sequence[str],
    reference: str,
    *,
    where: str,
) -> Published:
    lines = _lines(table, results, where)
    _require_metrics(table.metrics, metrics, [line["metric"] for line in lines], f"{where}.metrics")
    rows: dict[tuple[str, str], str] = {}
    values: dict[tuple[str, str], dict[str, float]] = {}
    for key, row in table.rows.items():
        places = _places(key, arms, f"{where}.rows")
        name, of_row = _row(row, lines, f"{where}.rows.{key}")
        printed_here = {ours: of_row[theirs] for ours, theirs in table.metrics.items() if theirs in of_row}
        for place in places:
            rows[place], values[place] = name, printed_here
    return Published(
        f"{table.name}, table {table.table}",
        table.dataset,
        lines[0]["protocol"],
        table.metrics,
        rows,
        values,
        {place: _gain(own, values.get((place[0], reference))) for place, own in values.items()},
        [
            *_others(lines, {*rows.values()}),
            *(row for other in table.others for row in _others(_lines(table, results, where, other), ())),
        ],
    )


def _together(found: Sequence[Published]) -> Published:
    """Several tables as one: every metric of ours stands beside one of them."""
    places = dict.fromkeys(place for one in found for place in one.rows)

    def joined(texts: Iterator[str]) -> str:
        return " and ".join(dict.fromkeys(texts))

    return Published(
        joined(one.paper for one in found),
        joined(one.dataset for one in found),
        joined(one.protocol for one in found),
        {ours: theirs for one in found for ours, theirs in one.metrics.items()},
        {place: joined(one.rows[place] for one in found if place in one.rows) for place in places},
        {place: _merged(one.values.get(place, {}) for one in found) for place in places},
        {place: _merged(one.gains.get(place, {}) for one in found) for place in places},
        [other for one in found for other in one.others],
    )


def _merged(parts: Iterator[Mapping[str, float]]) -> dict[str, float]:
    return {metric: value for part in parts for metric, value in part.items()}


def _lines(table: PaperTable, results: Path, where: str, other: str | None = None) -> list[dict[str, str]]:
    """The lines of the table, or of another one of the paper's."""
    lines = _read(results)
    number = ("others", other) if other is not None else ("table", table.table)
    chosen = {"paper": ("name", table.name), "table": number, "dataset": ("dataset", table.dataset)}
    for column, (key, value) in chosen.items():
        known = dict.fromkeys(line[column] for line in lines)
        lines = [line for line in lines if line[column] == value]
        if not lines:
            raise ParamsError(f"{where}.{key}: {results.name} has no {value!r}{hint(value, known)}")
    return lines


def _read(results: Path) -> list[dict[str, str]]:
    """All lines of the papers' numbers, of which none is passed over."""
    table = open_table(results, encoding="utf-8", delimiter=",")
    table.require(_COLUMNS, "; mend its first line")
    lines = []
    for row in table.rows():
        if isinstance(row, BrokenRow):
            raise SourceError(f"{results} row {row.number}: {row.problem}; mend the row")
        if not _is_number(row.cells["value"]):
            raise SourceError(
                f"{results} row {row.number}: {row.cells['value']!r} is no number; mend the row"
            )
        lines.append(row.cells)
    return lines


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _require_metrics(
    pairs: Mapping[str, str], metrics: Sequence[str], printed: Sequence[str], where: str
) -> None:
    for ours, theirs in pairs.items():
        if ours not in metrics:
            raise ParamsError(f"{where}: {ours!r} is none of the study's{hint(ours, metrics)}")
        if theirs not in printed:
            known = dict.fromkeys(printed)
            raise ParamsError(f"{where}.{ours}: the table has no column {theirs!r}{hint(theirs, known)}")


def _places(key: str, arms: Mapping[str, Sequence[str]], where: str) -> list[tuple[str, str]]:
    """The runs and arms that `arm` or `run.arm` means."""
    run, _, arm = key.rpartition(".")
    if run and run not in arms:
        raise ParamsError(f"{where}.{key}: there is no run {run!r}{hint(run, arms)}")
    places = [(one, arm) for one in ([run] if run else arms) if arm in arms[one]]
    if not places:
        there = dict.fromkeys(name for one in ([run] if run else arms) for name in arms[one])
        raise ParamsError(f"{where}.{key}: {arm!r} is no arm of the study{hint(arm, there)}")
    return places


def _row(row: str | PaperRow, lines: Sequence[Mapping[str, str]], where: str) -> tuple[str, dict[str, float]]:
    """A row's name and values by the paper's metric."""
    method = row if isinstance(row, str) else row.method
    own = [line for line in lines if line["method"] == method]
    if not own:
        known = dict.fromkeys(line["method"] for line in lines)
        raise ParamsError(f"{where}: the table has no row {method!r}{hint(method, known)}")
    sizes = list(dict.fromkeys(line["rl_train_size"] for line in own))
    if isinstance(row, str) and len(sizes) > 1:
        raise ParamsError(
            f"{where}: {method!r} is there for several sizes ({', '.join(sizes)}); write "
            f"{{method: {method}, rl_train_size: {sizes[0]!r}}}"
        )
    if isinstance(row, PaperRow):
        if row.rl_train_size not in sizes:
            said = f"{row.rl_train_size!r} is none of {method!r}{hint(row.rl_train_size, sizes)}"
            raise ParamsError(f"{where}.rl_train_size: {said}")
        own = [line for line in own if line["rl_train_size"] == row.rl_train_size]
        method = f"{method}, {row.rl_train_size}"
    return method, {line["metric"]: float(line["value"]) for line in own}


def _others(lines: Sequence[Mapping[str, str]], beside: Collection[str]) -> list[OtherRows]:
    """A table's rows but for those beside an arm, which are named as `_row` names them."""
    methods = Counter(method for method, _ in {(line["method"], line["rl_train_size"]) for line in lines})
    rows: dict[str, dict[str, float]] = {}
    for line in lines:
        method, size = line["method"], line["rl_train_size"]
        named = f"{method}, {size}"
        if named not in beside and (methods[method] > 1 or method not in beside):
            row = rows.setdefault(named if size.strip("-") else method, {})
            row[line["metric"]] = float(line["value"])
    first = lines[0]
    return [OtherRows(f"{first['paper']}, table {first['table']}", first["protocol"], rows)] if rows else []


def _gain(own: Mapping[str, float], reference: Mapping[str, float] | None) -> dict[str, float]:
    if reference is None or own is reference:
        return {}
    return {metric: value - reference[metric] for metric, value in own.items() if metric in reference}
