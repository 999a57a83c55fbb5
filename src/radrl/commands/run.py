"""Scorers built as the command line and a settings file say, and run one family after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import yaml

from radrl.commands.common import build_labeler
from radrl.commands.metrics import Wanted
from radrl.commands.options import Given
from radrl.commands.pairs import Pairs
from radrl.labelers.base import Labeler, LabelMatrix
from radrl.labelers.remembering import Remembering
from radrl.observations import OBSERVATIONS
from radrl.parts.find import own_names
from radrl.scoring.base import Scorer, Scores, ScoringError
from radrl.scoring.build import build
from radrl.scoring.names import WITHOUT_MODEL
from radrl.storage.digests import sha256

EVAL: Final[dict[str, Any]] = {"nlg": {"preparation": "basic", "meteor": True}}
LABELER: Final[dict[str, Any]] = {"rules": {"alternatives": "uncertain", "other_findings": True}}
"""The sections `eval` and `labeler` where no settings file says otherwise."""

_CHUNK: Final = 2048
"""Reports labelled between two steps of the bar."""

_NAMED: Final = re.compile(r"\b(report|reference|hypothesis) (\d+)\b")
"""How scorers name a report: by its place among those they are given, from 0."""


class _WithBar:
    """A labeler with a bar.

    Args:
        labeler: who reads.
        given: for the bar.
    """

    def __init__(self, labeler: Labeler, given: Given) -> None:
        self.name = labeler.name
        self._labeler, self._given = labeler, given

    def label(self, reports: Sequence[str]) -> LabelMatrix:
        """See `radrl.labelers.base.Labeler`."""
        parts = [np.zeros((0, len(OBSERVATIONS)), dtype=np.int8)]
        with self._given.progress(f"labels by {self.name}", len(reports), "reports") as bar:
            for start in range(0, len(reports), _CHUNK):
                parts.append(self._labeler.label(reports[start : start + _CHUNK]))
                bar.update(len(parts[-1]))
        return np.concatenate(parts)


def read_settings(path: Path | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sections `eval` and `labeler`.

    Args:
        path: a params.yaml, or a file that is its section `eval`; nothing for what holds without one.

    Returns:
        Both sections.

    Raises:
        click.BadParameter: when the file is no such mapping.
    """
    if path is None:
        return dict(EVAL), dict(LABELER)
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} is no YAML: {error}", param_hint="--settings") from None
    own: Any = values
    labeler: Any = {}
    if isinstance(values, dict) and "eval" in values:
        own, labeler = values["eval"], values.get("labeler") or {}
    elif isinstance(values, dict) and (
        unknown := sorted(values.keys() - {*own_names("metric", values), "families", "labelers"})
    ):
        valid = ", ".join(["eval, or of it families", "labelers", *own_names("metric", values)])
        raise click.BadParameter(
            f"{path} has no use for {unknown[0]!r}; keys: {valid}", param_hint="--settings"
        )
    if not isinstance(own, dict) or not isinstance(labeler, dict):
        raise click.BadParameter(f"{path} holds no mapping of settings", param_hint="--settings")
    return EVAL | own, LABELER | labeler


def build_scorer(
    family: str, settings: Mapping[str, Any], labelers: Sequence[Labeler], source: str
) -> Scorer:
    """Build a family's scorer.

    Args:
        family: its name.
        settings: the section `eval`.
        labelers: who read the labels of the family ``ce``.
        source: where the settings come from, for messages.

    Returns:
        The scorer.

    Raises:
        ScoringError: when its settings are missing or wrong, or its tool is.
    """
    try:
        return build([family], settings, labelers)[0]
    except KeyError as error:
        raise ScoringError(f"the settings of {family} in {source} lack {error}") from error
    except TypeError as error:
        raise ScoringError(f"the settings of {family} in {source}: {error}") from error


@dataclass(frozen=True, slots=True)
class Scoring:
    """What is to be scored, and by whom.

    Args:
        wanted: the metrics.
        readers: the labelers of the family ``ce``.
        scorers: by family.
        settings: what they were built from, for the record.
    """

    wanted: Wanted
    readers: Sequence[Labeler]
    scorers: Mapping[str, Scorer]
    settings: Mapping[str, Any]


def set_up(
    given: Given,
    *,
    metrics: Sequence[str],
    labelers: Sequence[str],
    model: Path | None,
    device: str,
    settings: Path | None,
    nlg: Mapping[str, Any],
) -> Scoring:
    """Build all that the command line asks for, before the file is read.

    Args:
        given: for the labelers' bars.
        metrics: families, metrics and patterns; by default those of the settings.
        labelers: names; by default those of the settings.
        model: of a CheXbert.
        device: where it runs.
        settings: file of settings.
        nlg: settings of ``nlg`` that the command line changes.

    Returns:
        Scorers that only want texts.

    Raises:
        click.ClickException: for what there is not, or a settings file that is none.
        ScoringError: when a scorer cannot be built.
    """
    evaluation, labeler = read_settings(settings)
    evaluation["nlg"] = {**evaluation["nlg"], **nlg}
    read_by = list(dict.fromkeys(labelers or evaluation.get("labelers") or ["rules"]))
    wanted = Wanted(metrics or evaluation.get("families") or WITHOUT_MODEL, read_by, evaluation)
    if "ce" not in wanted.families:
        read_by = []
    readers = [Remembering(_WithBar(build_labeler(name, model, device, labeler), given)) for name in read_by]
    source = str(settings or "--settings")
    record: dict[str, Any] = {"metrics": wanted.items}
    for name in read_by:
        weights = {} if model is None else {"model": model.name, "sha256": sha256(model), "device": device}
        record[name] = labeler["rules"] if name == "rules" else weights
    record |= {family: evaluation[family] for family in wanted.families if family in evaluation}
    scorers = {name: build_scorer(name, evaluation, readers, source) for name in wanted.families}
    return Scoring(wanted, readers, scorers, record)


def run(given: Given, scoring: Scoring, pairs: Pairs) -> dict[str, Scores]:
    """Score reports with one family after the other.

    Args:
        given: what the command line says.
        scoring: by whom.
        pairs: the reports.

    Returns:
        Scores by family.

    Raises:
        ScoringError: naming the row of a report that could not be scored.
        click.BadParameter: when a metric that was asked for is none.
    """
    scores = {}
    with given.progress("scoring", len(scoring.scorers), "families") as bar:
        for family, scorer in scoring.scorers.items():
            bar.set_description(f"scoring {family}")
            try:
                scores[family] = scorer.score(pairs.references, pairs.hypotheses)
            except (ScoringError, ValueError) as error:
                raise ScoringError(f"{family}: {_with_rows(str(error), given, pairs)}") from error
            bar.update()
    scoring.wanted.require_found({name: [*one.corpus, *one.skipped] for name, one in scores.items()})
    return scores


def _with_rows(message: str, given: Given, pairs: Pairs) -> str:
    """The message, with each report's row in the file."""

    def named(found: re.Match[str]) -> str:
        place = int(found[2])
        return f"{found[1]} of row {pairs.numbers[place]}" if place < len(pairs.numbers) else found[0]

    return f"{_NAMED.sub(named, message)} ({given.name})"
