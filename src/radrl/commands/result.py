"""Scores of one file as they are handed on: figures, intervals, the protocol behind them, rows per report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from radrl.commands.pairs import Pairs
from radrl.commands.run import Scoring
from radrl.evaluation.bootstrap import Interval, Method, bootstrap_intervals
from radrl.evaluation.clinical_efficacy import clinical_efficacy
from radrl.evaluation.label_agreement import LabelRow
from radrl.evaluation.summed import FloatArray, join
from radrl.labelers.base import LabelMatrix
from radrl.observations import OBSERVATIONS
from radrl.scoring.base import Scores

Labels = Mapping[str, tuple[LabelMatrix, LabelMatrix]]
"""By labeler, the labels of references and hypotheses, shape (N, 14) each."""


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
        labels: by labeler, the labels of references and hypotheses.
        per_label: by labeler, 14 rows for each reading of uncertain.
        per_report: by metric, one value a report, shape (N,).
        settings: of scorers, labelers and bootstrap.
        about: by family, what else its figures depend on.
    """

    source: Mapping[str, Any]
    figures: Mapping[str, Mapping[str, Figure]]
    skipped: Mapping[str, str]
    labels: Labels
    per_label: Mapping[str, Sequence[LabelRow]]
    per_report: Mapping[str, FloatArray]
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


def assemble(
    source: Mapping[str, Any],
    scoring: Scoring,
    scores: Mapping[str, Scores],
    pairs: Pairs,
    bootstrap: Bootstrap | None,
) -> Result:
    """Put together what was asked for.

    Args:
        source: what was scored.
        scoring: by whom, and which metrics count.
        scores: by family.
        pairs: the reports.
        bootstrap: how intervals are found; nothing for none.

    Returns:
        The result.
    """
    intervals = _intervals(scores, pairs, bootstrap)
    wanted, labels = scoring.wanted, {}
    for reader in scoring.readers:
        labels[reader.name] = (reader.label(pairs.references), reader.label(pairs.hypotheses))
    asked: dict[str, dict[str, Figure]] = {}
    skipped: dict[str, str] = {}
    per_report: dict[str, FloatArray] = {}
    for family, one in scores.items():
        values = {name: value for name, value in one.corpus.items() if wanted.has(name, family)}
        asked[family] = {name: Figure(value, intervals.get(name)) for name, value in values.items()}
        skipped |= {name: reason for name, reason in one.skipped.items() if wanted.has(name, family)}
        per_report |= {name: own for name, own in one.per_report.items() if wanted.has(name, family)}
    settings = {**scoring.settings, "bootstrap": None if bootstrap is None else asdict(bootstrap)}
    per_label = {name: clinical_efficacy(*both, labeler=name).per_label for name, both in labels.items()}
    return Result(
        source,
        asked,
        skipped,
        labels,
        per_label,
        per_report,
        settings,
        {name: one.about for name, one in scores.items()},
    )


def _intervals(
    scores: Mapping[str, Scores], pairs: Pairs, bootstrap: Bootstrap | None
) -> dict[str, Interval]:
    """Of every metric that is a function of sums over reports, all from the same resamples."""
    sums = [one.summed for one in scores.values() if one.summed is not None]
    if bootstrap is None or not sums:
        return {}
    return bootstrap_intervals(
        [join(*sums)],
        pairs.patients,
        resamples=bootstrap.resamples,
        level=bootstrap.confidence,
        method=bootstrap.method,
        seed=bootstrap.seed,
    )


def as_text(result: Result) -> str:
    """The result as the text of a JSON file."""
    return json.dumps(result.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def report_schema(
    own: Mapping[str, Any], types: Mapping[str, pa.DataType], result: Result, *, words: bool
) -> pa.Schema:
    """The columns of the table per report: its own, each metric, the labels of both sides.

    Args:
        own: what goes with a report.
        types: of those, where they are no text.
        result: for metrics and labelers.
        words: whether classes are written as words.

    Returns:
        Names and types.
    """
    kind = pa.string() if words else pa.int8()
    columns = {name: types.get(name, pa.string()) for name in own}
    columns |= dict.fromkeys(result.per_report, pa.float64())
    columns |= dict.fromkeys(_label_columns(result), kind)
    return pa.schema(list(columns.items()))


def report_rows(
    own: Mapping[str, Sequence[Any]], result: Result, classes: Mapping[int, int | str | None]
) -> Iterator[dict[str, Any]]:
    """The rows of the table per report.

    Args:
        own: what goes with a report, by column, N values each.
        result: for metrics and labels.
        classes: how a class is written.

    Yields:
        N rows; a report without a score has null.
    """
    columns: dict[str, Sequence[Any]] = dict(own)
    for name, values in result.per_report.items():
        columns[name] = [None if math.isnan(value) else value for value in values.tolist()]
    matrices = [matrix for both in result.labels.values() for matrix in both]
    of_labels = [column for matrix in matrices for column in matrix.T.tolist()]  # 14 a matrix, N values each
    for name, column in zip(_label_columns(result), of_labels, strict=True):
        columns[name] = [classes[said] for said in column]
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def _label_columns(result: Result) -> list[str]:
    """Such as rules_reference_Cardiomegaly, in the order of the labelers, sides and observations."""
    return [
        f"{labeler}_{side}_{name}"
        for labeler in result.labels
        for side in ("reference", "hypothesis")
        for name in OBSERVATIONS
    ]
