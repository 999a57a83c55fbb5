"""Scores of one file as they are handed on: figures, intervals, the protocol behind them, rows per report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from radrl.commands.pairs import Pairs, Survey
from radrl.commands.run import Part, Scoring
from radrl.evaluation import FloatArray, RunningSum, SummedMetrics, join
from radrl.evaluation.bootstrap import Interval, Method, patient_groups, patient_intervals
from radrl.evaluation.label_agreement import LabelRow, label_counts, rows_of_counts
from radrl.observations import OBSERVATIONS
from radrl.process.terminal import new_table, number
from radrl.scoring import Scores


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are found.

    Args:
        resamples: number of them.
        confidence: coverage aimed at.
        seed: decides the resamples.
        method: of `radrl.evaluation.bootstrap`.
    """

    resamples: int
    confidence: float
    seed: int
    method: Method = "bca"


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric.

    Args:
        value: over all reports.
        interval: where one was asked for and the metric is a function of sums over reports.
    """

    value: float
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Scores of one file.

    Args:
        source: what was scored: the file's name and digest, the columns, how many reports.
        figures: by family and metric.
        skipped: by metric, why it is missing.
        per_label: by labeler, 14 rows for each reading of uncertain.
        settings: of scorers, labelers and bootstrap.
        about: by family, what else its figures depend on.
    """

    source: Mapping[str, Any]
    figures: Mapping[str, Mapping[str, Figure]]
    skipped: Mapping[str, str]
    per_label: Mapping[str, Sequence[LabelRow]]
    settings: Mapping[str, Any]
    about: Mapping[str, Mapping[str, str]]

    def as_json(self) -> dict[str, Any]:
        """Everything but the reports and their own scores; what is undefined is null."""
        return {
            "radrl": version("radrl"),
            "source": dict(self.source),
            "metrics": {
                name: {"family": family} | _figure(figure)
                for family, figures in self.figures.items()
                for name, figure in figures.items()
            },
            "skipped": dict(self.skipped),
            "per_label": {
                labeler: [{key: _finite(value) for key, value in asdict(row).items()} for row in rows]
                for labeler, rows in self.per_label.items()
            },
            "settings": dict(self.settings),
            "about": {family: dict(about) for family, about in self.about.items()},
        }


def _figure(figure: Figure) -> dict[str, float | None]:
    said = {"value": _finite(figure.value)}
    if figure.interval is not None:
        said |= {"low": _finite(figure.interval.low), "high": _finite(figure.interval.high)}
    return said


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Gathering:
    """What the figures need of parts that were scored: sums over all reports, and over each patient's.

    Args:
        scoring: by whom, and which metrics count.
        found: of the first reading.
        bootstrap: how intervals are found; nothing for none.
    """

    def __init__(self, scoring: Scoring, found: Survey, bootstrap: Bootstrap | None) -> None:
        self._scoring, self._bootstrap = scoring, bootstrap
        self._counts: dict[str, FloatArray] = {}
        self._patients = _Patients(found) if bootstrap else None

    def add(self, pairs: Pairs, part: Part) -> None:
        """Take in a part, in the order of the rows."""
        for labeler, labels in part.labels.items():
            self._counts[labeler] = self._counts.get(labeler, 0.0) + label_counts(*labels)
        sums = [one.summed for one in part.scores.values() if one.summed is not None]
        if self._patients and sums:
            self._patients.add(pairs, join(*sums))

    def result(self, source: Mapping[str, Any], scores: Mapping[str, Scores]) -> Result:
        """Put together what was asked for.

        Args:
            source: what was scored.
            scores: the figures by family.

        Returns:
            The result.
        """
        intervals: Mapping[str, Interval] = {}
        if self._patients and self._bootstrap:
            intervals = self._patients.intervals(self._bootstrap)
        wanted = self._scoring.wanted
        asked: dict[str, dict[str, Figure]] = {}
        skipped: dict[str, str] = {}
        for family, one in scores.items():
            values = {name: value for name, value in one.corpus.items() if wanted.has(name, family)}
            asked[family] = {name: Figure(value, intervals.get(name)) for name, value in values.items()}
            skipped |= {name: reason for name, reason in one.skipped.items() if wanted.has(name, family)}
        bootstrap = None if self._bootstrap is None else asdict(self._bootstrap)
        return Result(
            source,
            asked,
            skipped,
            {labeler: rows_of_counts(counts) for labeler, counts in self._counts.items()},
            {**self._scoring.settings, "bootstrap": bootstrap},
            {name: one.about for name, one in scores.items()},
        )


class _Patients:
    """Sums over each patient's reports of every number that some metric is a function of."""

    def __init__(self, found: Survey) -> None:
        self._known = found.patients
        names = list(found.patients) or list(map(str, found.numbers))
        self._places = patient_groups(names)  # by number of the patient, or of the report
        self._seen = 0
        self._total = RunningSum()
        self._sums: FloatArray | None = None

    def add(self, pairs: Pairs, family: SummedMetrics) -> None:
        """Take in a part, in the order of the rows."""
        if self._known:
            numbers = np.array([self._known[patient] for patient in pairs.patients])
        else:
            numbers = np.arange(self._seen, self._seen + len(pairs.numbers))
        self._seen += len(pairs.numbers)
        if self._sums is None:
            self._sums = np.zeros((len(self._places), family.per_study.shape[1]))
        np.add.at(self._sums, self._places[numbers], family.per_study)
        self._total.add(family.per_study)
        self._of_sums = family.of_sums

    def intervals(self, bootstrap: Bootstrap) -> dict[str, Interval]:
        """Of every metric that is a function of sums over reports, all from the same resamples."""
        if self._sums is None:
            return {}
        return patient_intervals(
            SummedMetrics(self._sums, self._of_sums),
            self._total.values(self._of_sums),
            resamples=bootstrap.resamples,
            level=bootstrap.confidence,
            method=bootstrap.method,
            seed=bootstrap.seed,
        )


def as_text(result: Result) -> str:
    """The result as the text of a JSON file."""
    return json.dumps(result.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


class ReportTable:
    """The table per report: what goes with a report, each metric asked for, the labels of both sides.

    Args:
        scoring: which metrics count.
        types: of what goes with a report; by default text.
        classes: how a class is written.
        words: whether that is in words.
    """

    def __init__(
        self,
        scoring: Scoring,
        types: Mapping[str, pa.DataType],
        classes: Mapping[int, int | str | None],
        *,
        words: bool,
    ) -> None:
        self._scoring, self._types, self._classes = scoring, types, classes
        self._kind = pa.string() if words else pa.int8()

    def schema(self, own: Iterable[str], part: Part) -> pa.Schema:
        """Names and types of the columns.

        Args:
            own: what goes with a report.
            part: any part of the reports.
        """
        columns = {name: self._types.get(name, pa.string()) for name in own}
        columns |= dict.fromkeys(self._per_report(part), pa.float64())
        columns |= dict.fromkeys(_label_columns(part), self._kind)
        return pa.schema(list(columns.items()))

    def rows(self, own: Mapping[str, Sequence[Any]], part: Part) -> list[dict[str, Any]]:
        """The rows of a part; a report without a score has null.

        Args:
            own: what goes with a report, by column, a value a report.
            part: the reports' scores.
        """
        columns: dict[str, Sequence[Any]] = dict(own)
        for name, values in self._per_report(part).items():
            columns[name] = [None if math.isnan(value) else value for value in values.tolist()]
        matrices = [matrix for both in part.labels.values() for matrix in both]
        of_labels = [column for matrix in matrices for column in matrix.T.tolist()]  # 14 a matrix
        for name, column in zip(_label_columns(part), of_labels, strict=True):
            columns[name] = [self._classes[said] for said in column]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _per_report(self, part: Part) -> dict[str, FloatArray]:
        has = self._scoring.wanted.has
        return {
            name: own
            for family, one in part.scores.items()
            for name, own in one.per_report.items()
            if has(name, family)
        }


def _label_columns(part: Part) -> list[str]:
    """Such as rules_reference_Cardiomegaly, in the order of the labelers, sides and observations."""
    return [
        f"{labeler}_{side}_{name}"
        for labeler in part.labels
        for side in ("reference", "hypothesis")
        for name in OBSERVATIONS
    ]


_WIDTH: Final = 100
"""Columns at least: a narrow terminal folds a line, and cuts no name."""


def show(result: Result, *, brief: bool) -> None:
    """Print figures by family, scores by label, what was skipped, and the protocol.

    Args:
        result: what to print.
        brief: of clinical efficacy only the F1 of each averaging.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = max(console.width, _WIDTH)
    for family, figures in result.figures.items():
        shown = {name: one for name, one in figures.items() if not brief or family != "ce" or "_f1" in name}
        if shown:
            console.print(_figures(family, shown), "")
        if len(shown) < len(figures):
            more = f"{len(figures) - len(shown)} more of {family} (precision, recall, exact match)"
            console.print(f"{more} with --metrics {family} or --json\n", style="dim", soft_wrap=True)
    for labeler in result.per_label:
        console.print(_labels(labeler, result), "")
    for name, reason in result.skipped.items():
        console.print(f"{name}: {reason}", style="yellow", soft_wrap=True)
    for line in _protocol(result):
        console.print(line, style="dim", soft_wrap=True)


def _figures(family: str, figures: Mapping[str, Figure]) -> Table:
    intervals = any(one.interval is not None for one in figures.values())
    table = new_table(family, "value", *(("low", "high") if intervals else ()))
    for name, one in figures.items():
        cells = [number(one.value)]
        if intervals:
            ends = (one.interval.low, one.interval.high) if one.interval else (math.nan, math.nan)
            cells += [number(end) for end in ends]
        table.add_row(name, *cells)
    return table


def _labels(labeler: str, result: Result) -> Table:
    """The stricter reading; both are in the JSON."""
    table = new_table(f"labels of {labeler}, positive alone", "P", "R", "F1", "present", "predicted")
    for row in result.per_label[labeler]:
        if not row.uncertain_as_positive:
            scores = [number(score) for score in (row.precision, row.recall, row.f1)]
            style = "" if row.support else "dim"
            table.add_row(row.observation, *scores, str(row.support), str(row.predicted), style=style)
    return table


def _protocol(result: Result) -> Iterator[str]:
    source = result.source
    counts = f"{source['reports']:,} reports"
    if source["patient"]:
        counts += f" of {source['patients']:,} patients"
    if source["bad_rows"]:
        counts += f", {source['bad_rows']:,} bad rows left out"
    counts += f", hypotheses that are no report: {source['empty']:,}"
    yield f"{source['file']} (sha256 {source['sha256'][:12]}): {counts}"
    for name, settings in result.settings.items():
        if settings is not None:
            yield f"{name}: {_said(settings)}"
    for family, about in result.about.items():
        if about:
            yield f"{family}: {_said(about)}"


def _said(settings: Any) -> str:
    if isinstance(settings, Mapping):
        parts = ((name, value, isinstance(value, Mapping)) for name, value in settings.items())
        return ", ".join(
            f"{name} ({_said(value)})" if inner else f"{name} {_said(value)}" for name, value, inner in parts
        )
    if isinstance(settings, (list, tuple)):
        return " ".join(map(_said, settings))
    return settings if isinstance(settings, str) else json.dumps(settings, ensure_ascii=False)
