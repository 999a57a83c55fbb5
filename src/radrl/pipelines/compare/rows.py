"""The rows of the comparison: arms, what needs no model, readers of films, the references, other systems.

Other systems' rows are what `radrl score` or `radrl rows` found of outputs that were not made here. They may
be of other films, by other settings and without intervals, so they are tested against nothing and beat
nobody; what differs from the arms' own scores, as far as the file says it, is told beside the row.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from radrl.algorithms.f_measure import BoolArray
from radrl.data.spreadsheets import quoted
from radrl.evaluation import SummedMetrics, baselines
from radrl.evaluation.bootstrap import Interval, bootstrap_intervals
from radrl.evaluation.comparison import ComparisonRow, Pair, compare, drawn_alike, pair_errors
from radrl.labelers import LabelMatrix
from radrl.observations import OBSERVATIONS, POSITIVE
from radrl.pages.page import NOT_OURS
from radrl.params.messages import ParamsError
from radrl.parts.choices import near
from radrl.pipelines.scored_texts import texts_of
from radrl.readers import READERS
from radrl.scoring import Texts
from radrl.storage import json_files

CEILING: Final = "reference_report"
TRIVIAL: Final = {
    "constant_normal_report": "the same normal report for every film",
    "every_label_positive": "labels that assert everything; no text",
    "random_training_report": "the report of a training film drawn at random",
    "nearest_training_film": "the report of the training film nearest in its pixels",
}
"""Rows that need no model, and what they are."""

_FORMS: Final = ("report", "label_text")
"""A training report's columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One row's answers to the N films.

    Args:
        reports: N texts in both forms; nothing for a row that has labels alone.
        labels: class indices of such a row, shape (N, 14).
        stored: of an arm, what eval found per report: a column a metric, N rows.
    """

    reports: Texts | None
    labels: LabelMatrix | None = None
    stored: pd.DataFrame | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RowScores:
    """One row's scores by one scorer.

    Args:
        summed: the metrics that are asked for.
        missing: by metric, how many reports have no value; only metrics with such reports.
        kept: which of the N films `summed` is over, shape (N,); nothing for all.
    """

    summed: SummedMetrics
    missing: Mapping[str, int]
    kept: BoolArray | None = None


def all_rows(
    arms: Mapping[str, pd.DataFrame],
    training: pd.DataFrame | None,
    nearest: pd.DataFrame | None,
    ceilings: pd.DataFrame,
    *,
    seed: int,
    forms: Callable[[Sequence[str], Sequence[str]], Texts],
) -> dict[str, Row]:
    """Every row of the table, arms first, the ceiling last.

    Args:
        arms: by arm, reports and what eval found of each, all over the same N films in the same order.
        training: report and label_text of the training films, for the row that draws from them; without any,
            neither that row nor the next one is there.
        nearest: the same of the nearest training film of each film, N rows.
        ceilings: of the stage ceilings, labels read off the films.
        seed: of that draw.
        forms: gives reports and label texts the forms in which eval scored the arms and the references.

    Returns:
        The rows by name.

    Raises:
        ValueError: when an arm bears the name of another row, or `ceilings` lacks a film.
    """
    if taken := arms.keys() & {*TRIVIAL, *READERS, CEILING}:
        raise ValueError(
            f"arms.{min(taken)}: the table has a row of this name already; give the arm another one"
        )
    films = next(iter(arms.values()))
    count = len(films)
    rows = {arm: Row(texts_of(frame, "report"), stored=frame) for arm, frame in arms.items()}
    normal = baselines.constant_normal_report(count)
    rows["constant_normal_report"] = Row(forms(normal, normal))
    rows["every_label_positive"] = Row(None, labels=baselines.every_label_positive(count))
    if training is not None and nearest is not None:
        drawn = (
            baselines.random_training_reports(training[form].tolist(), count, seed=seed) for form in _FORMS
        )
        rows["random_training_report"] = Row(forms(*drawn))
        rows["nearest_training_film"] = Row(forms(*(nearest[form].tolist() for form in _FORMS)))
    rows |= _readers(ceilings, films["sample_id"])
    rows[CEILING] = Row(texts_of(films, "reference"))
    return rows


def tabulate(
    scores: Sequence[Mapping[str, RowScores]],
    rows: Sequence[str],
    metrics: Sequence[str],
    patients: Sequence[str],
    *,
    reference: str,
    bootstrap: Mapping[str, Any],
    seed: int,
    apart: Sequence[Mapping[str, Any]] = (),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare the rows on the metrics.

    Args:
        scores: by row, those of each scorer; a row without text is missing from most.
        rows: names of the rows in the order of the table.
        metrics: their names in the order of the table.
        patients: the patient of each film.
        reference: the arm the others are tested against.
        bootstrap: resamples and confidence.
        seed: of the resamples.
        apart: lines of rows that were scored elsewhere, of `radrl.pipelines.compare.rows.system_lines`.

    Returns:
        A line a row and metric: arm, kind (arm, system, trivial, reader or ceiling), metric, value with its
        interval, reports without a value, difference from the reference arm with interval, p of the paired
        bootstrap and of approximate randomisation, Holm's correction of the former over the arms (no p where
        patients are too few), the patients it is over, and the trivial rows that beat it. Systems, readers
        and the ceiling are tested against nothing and beat nobody. With lines from elsewhere, their source
        and what differs. And a line a metric and pair of arms or rows that need no model:
        `radrl.evaluation.comparison.Pair`.
    """
    lines: list[Mapping[str, Any]] = [*apart]
    pairs: list[Pair] = []
    options = {"resamples": bootstrap["resamples"], "level": bootstrap["confidence"], "seed": seed}
    for family in scores:
        untested = {name: "reader" for name in READERS if name in family} | {CEILING: "ceiling"}
        own = {name: row.summed for name, row in family.items() if name not in untested}
        trivial = [name for name in TRIVIAL if name in own]
        who = _patients(family[reference], patients)
        drawn = drawn_alike(own, who, resamples=options["resamples"], seed=seed)
        found = compare(own, who, reference=reference, trivial=trivial, **options, drawn=drawn)
        pairs += pair_errors(drawn)
        lines += [_line(row, family[row.arm]) for row in found]
        # apart from `compare`, whose Holm correction would count each as one more hypothesis
        for name, kind in untested.items():
            values = bootstrap_intervals(family[name].summed, who, **options)
            lines += [_value(name, kind, metric, value, family[name]) for metric, value in values.items()]
    frame = pd.DataFrame(lines).assign(
        _row=lambda t: t["arm"].map(list(rows).index), _column=lambda t: t["metric"].map(list(metrics).index)
    )
    frame = frame.sort_values(["_row", "_column"]).drop(columns=["_row", "_column"]).reset_index(drop=True)
    frame = frame.astype({"patients": "Int64"})  # whole, though rows that are not tested have none
    return frame, pd.DataFrame([dataclasses.asdict(pair) for pair in pairs])


def _readers(ceilings: pd.DataFrame, sample_ids: pd.Series) -> dict[str, Row]:
    """The rows that read labels off the films, each with its labels in the order of the films."""
    rows: dict[str, Row] = {}
    for name, own in ceilings.groupby("row", sort=False):
        if lacking := sorted({*sample_ids} - {*own["sample_id"]}):
            raise ValueError(
                f"row {name!r} lacks {len(lacking)} of the films that were scored, such as {lacking[0]}; "
                "run ceilings again"
            )
        labels = own.set_index("sample_id").loc[sample_ids, list(OBSERVATIONS)]
        rows[str(name)] = Row(None, labels=labels.to_numpy(np.int8))
    return rows


def _patients(scores: RowScores, patients: Sequence[str]) -> Sequence[str]:
    """The patients of the films that a family of metrics is over, the same ones for every row."""
    if scores.kept is None:
        return patients
    return [patient for patient, kept in zip(patients, scores.kept, strict=True) if kept]


def _line(row: ComparisonRow, scores: RowScores) -> dict[str, Any]:
    kind = "trivial" if row.trivial else "arm"
    line = _value(row.arm, kind, row.metric, row.value, scores)
    if row.difference is not None:
        line |= {
            "difference": row.difference.difference,
            "difference_low": row.difference.low,
            "difference_high": row.difference.high,
            "p": row.difference.p_bootstrap,
            "p_randomisation": row.difference.p_randomisation,
            "p_holm": row.p_holm,
            "patients": row.difference.patients,
        }
    return line | {"beaten_by": " ".join(row.beaten_by) or None}


def _value(arm: str, kind: str, metric: str, value: Interval, scores: RowScores) -> dict[str, Any]:
    return {
        "arm": arm,
        "kind": kind,
        "metric": metric,
        "value": value.estimate,
        "low": value.low,
        "high": value.high,
        "missing": scores.missing.get(metric, 0),
    }


SYSTEM: Final = "system"


@dataclass(frozen=True, slots=True)
class System:
    """Scores of one system's outputs.

    Args:
        file: the name of the file that holds them.
        source: what was scored: the outputs' file and digest, how many reports.
        figures: by metric, value and, where it was asked for, low and high.
        settings: of scorers, labelers and bootstrap.
        positives: by labeler, how many references have each observation, in the order of
            `radrl.observations.OBSERVATIONS`.
        differs: in words, what is otherwise than with the arms.
    """

    file: str
    source: Mapping[str, Any]
    figures: Mapping[str, Mapping[str, float]]
    settings: Mapping[str, Any]
    positives: Mapping[str, Sequence[int]]
    differs: Sequence[str] = field(default=())

    @property
    def origin(self) -> str:
        """Where the figures come from."""
        return (
            f"{self.source['file']} (sha256 {self.source['sha256'][:12]}), {self.source['reports']:,} reports"
        )

    @property
    def protocol(self) -> str:
        """By what settings, beyond what the metrics' names say."""
        settings = {key: value for key, value in self.settings.items() if key != "metrics" and value}
        return ", ".join(f"{key} {json.dumps(value)}" for key, value in settings.items())


def read_systems(folder: Path, settings: Mapping[str, Any]) -> dict[str, System]:
    """Read the scores that `compare.systems` names.

    Args:
        folder: where the files lie.
        settings: the section `compare`.

    Returns:
        By the row's name, in the order of the section.

    Raises:
        ParamsError: when a file is not there, is not of `radrl score --json`, or has none of the table's
            metrics.
    """
    return {
        name: _read(folder / file, f"compare.systems.{name}", settings["metrics"])
        for name, file in settings["systems"].items()
    }


def _read(path: Path, key: str, metrics: Sequence[str]) -> System:
    again = f"`radrl score OUTPUTS --metrics {','.join(metrics)} --json {path}` writes it"
    if not path.is_file():
        there = sorted(file.name for file in path.parent.glob("*.json"))
        raise ParamsError(f"{key}: {path.parent} has no {path.name!r}{near(path.name, there)} {again}")
    try:
        system = _system(path.name, json_files.read(path))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise ParamsError(f"{key}: {path} holds no scores of `radrl score --json`; {again}") from None
    if not system.figures.keys() & {*metrics}:
        has = ", ".join(system.figures) or "none"
        raise ParamsError(f"{key}: {path} has no metric of compare.metrics, but {has}; {again}")
    return system


def _system(file: str, found: Mapping[str, Any]) -> System:
    """Take what `radrl.commands.result.Result.as_json` writes; another form ends in the access's error."""
    source = {name: kind(found["source"][name]) for name, kind in _SOURCE.items()}
    figures = {
        name: {at: _finite(one[at]) for at in ("value", "low", "high") if one.get(at) is not None}
        for name, one in found["metrics"].items()
        if one["value"] is not None
    }
    positives = {
        labeler: [row["support"] for row in rows if not row["uncertain_as_positive"]]
        for labeler, rows in found["per_label"].items()
    }
    return System(file, source, figures, dict(found["settings"]), positives)


def _finite(value: Any) -> float:
    if not math.isfinite(found := float(value)):
        raise ValueError(value)
    return found


_SOURCE: Final = {"file": str, "sha256": str, "reports": int}


def system_differences(
    system: System, films: pd.DataFrame, evaluation: Mapping[str, Any], labeler: Mapping[str, Any]
) -> Iterator[str]:
    """Say what is otherwise than with the arms; what the file does not say, nobody can.

    Args:
        system: of `read_systems`.
        films: of any arm: a row a report, with the labels of its reference by the first of `eval.labelers`.
        evaluation: the section `eval`.
        labeler: the section `labeler`.

    Yields:
        A clause each.
    """
    reader = evaluation["labelers"][0]
    if system.source["reports"] != len(films):
        yield f"other films: {system.source['reports']:,} reports, the arms have {len(films):,}"
    elif reader in system.positives and system.positives[reader] != _positives(films):
        yield f"other films or references: {reader} reads other labels in them"
    if "rules" in system.settings and system.settings["rules"] != labeler["rules"]:
        theirs, ours = (json.dumps(one["rules"]) for one in (system.settings, labeler))
        yield f"rules read by {theirs}, the arms' by {ours}"
    preparations = [(one.get("nlg") or {}).get("preparation") for one in (system.settings, evaluation)]
    if preparations[0] not in (None, preparations[1]):
        yield f"words prepared by {preparations[0]}, the arms' by {preparations[1]}"
    if (texts := system.settings.get("texts")) is not None:
        ours = {key: evaluation[key] for key in texts if key in evaluation}
        if texts != ours:
            yield f"texts cleaned by {json.dumps(texts)}, the arms' by {json.dumps(ours)}"
    elif evaluation["cleaning"] != "none" or evaluation["max_report_words"]:
        yield "texts scored as they came, the arms' after a cleaning (eval.cleaning, eval.max_report_words)"


def _positives(films: pd.DataFrame) -> list[int]:
    labels = np.stack(films["reference_labels"].to_list())
    return [int(count) for count in (labels == POSITIVE).sum(axis=0)]


def system_lines(systems: Mapping[str, System], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """The systems' lines of the comparison: metrics by the same name, and where the figures come from.

    Args:
        systems: by the row's name.
        metrics: of the table.

    Returns:
        Lines as of `radrl.pipelines.compare.rows.tabulate`, with `source` and `differs`.
    """
    return [
        {"arm": name, "kind": SYSTEM, "metric": metric, "low": math.nan, "high": math.nan}
        | system.figures[metric]
        | {"missing": 0, "source": quoted(system.origin), "differs": "; ".join(system.differs) or None}
        for name, system in systems.items()
        for metric in metrics
        if metric in system.figures
    ]


def row_titles(lines: pd.DataFrame) -> pd.Series:
    """The names of the comparison's lines as people read them, a system's marked as not ours."""
    return lines["arm"] + lines["kind"].map({SYSTEM: NOT_OURS}).fillna("")
