"""Rows of other systems: what `radrl score` found of outputs that were not made here.

They may be of other films, by other settings and without intervals, so they are tested against nothing and
beat nobody; what differs from the arms' own scores, as far as the file says it, is told beside the row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from radrl.data.spreadsheets import quoted
from radrl.observations import POSITIVE
from radrl.pages.caveats import NOT_OURS
from radrl.params.base import ParamsError
from radrl.parts.near import near
from radrl.storage import json_files

KIND: Final = "system"


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
    def said(self) -> str:
        """Where the figures come from."""
        return (
            f"{self.source['file']} (sha256 {self.source['sha256'][:12]}), {self.source['reports']:,} reports"
        )

    @property
    def protocol(self) -> str:
        """By what settings, beyond what the metrics' names say."""
        settings = {key: value for key, value in self.settings.items() if key != "metrics" and value}
        return ", ".join(f"{key} {json.dumps(value)}" for key, value in settings.items())


def read(folder: Path, settings: Mapping[str, Any]) -> dict[str, System]:
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


def differences(
    system: System, films: pd.DataFrame, evaluation: Mapping[str, Any], labeler: Mapping[str, Any]
) -> Iterator[str]:
    """Say what is otherwise than with the arms; what the file does not say, nobody can.

    Args:
        system: of `read`.
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
    if evaluation["cleaning"] != "none" or evaluation["max_report_words"]:
        yield "texts scored as they came, the arms' after a cleaning (eval.cleaning, eval.max_report_words)"


def _positives(films: pd.DataFrame) -> list[int]:
    labels = np.stack(films["reference_labels"].to_list())
    return [int(count) for count in (labels == POSITIVE).sum(axis=0)]


def lines(systems: Mapping[str, System], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """The systems' lines of the comparison: metrics by the same name, and where the figures come from.

    Args:
        systems: by the row's name.
        metrics: of the table.

    Returns:
        Lines as of `radrl.pipelines.compare.rows.tabulate`, with `source` and `differs`.
    """
    return [
        {"arm": name, "kind": KIND, "metric": metric, "low": math.nan, "high": math.nan}
        | system.figures[metric]
        | {
            "runs": 1,
            "missing": 0,
            "source": quoted(system.said),
            "differs": "; ".join(system.differs) or None,
        }
        for name, system in systems.items()
        for metric in metrics
        if metric in system.figures
    ]


def titled(lines: pd.DataFrame) -> pd.Series:
    """The rows' names as people read them, a system's marked as not ours.

    Args:
        lines: of the comparison.

    Returns:
        A name a line.
    """
    return lines["arm"] + lines["kind"].map({KIND: NOT_OURS}).fillna("")
