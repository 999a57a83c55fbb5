"""Scorers built as the command line and a settings file say, and run over the pairs part by part."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

import click

from radrl.commands.common import build_labeler
from radrl.commands.options import Given
from radrl.commands.pairs import Pairs
from radrl.labelers import LABELER, Labeler, LabelMatrix
from radrl.labelers.cached import CachedLabeler
from radrl.parts.find import own_names
from radrl.scoring import Scorer, Scores, ScoringError
from radrl.scoring.build import build
from radrl.scoring.by_parts import scoring_by_parts
from radrl.scoring.names import EVAL, WITHOUT_MODEL, UnknownMetric, Wanted
from radrl.storage import yaml_files
from radrl.storage.digests import sha256

T = TypeVar("T")

_KEPT: Final = 8_192
"""Texts whose labels are kept: reports repeat, and figures, tables and rows ask for the same ones."""

_WEIGHED: Final = "weighted_findings"

_NAMED: Final = re.compile(r"\b(report|reference|hypothesis) (\d+)\b")
"""How scorers name a report: by its place among those they are given, from 0."""


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
    values = yaml_files.read(path, lambda said: click.BadParameter(said, param_hint="--settings"))
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
        raise click.BadParameter(
            f"{path} holds no mapping of settings; give a params.yaml, or its section eval",
            param_hint="--settings",
        )
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
    *,
    metrics: Sequence[str],
    labelers: Sequence[str],
    model: Path | None,
    device: str,
    settings: Path | None,
    nlg: Mapping[str, Any],
    weights: Path | None = None,
) -> Scoring:
    """Build all that the command line asks for, before the file is read.

    Args:
        metrics: families, metrics and patterns; by default those of the settings.
        labelers: names; by default those of the settings.
        model: of a CheXbert.
        device: where it runs.
        settings: file of settings.
        nlg: settings of ``nlg`` that the command line changes.
        weights: a table of weights for ``weighted_findings``.

    Returns:
        Scorers that only want texts.

    Raises:
        click.ClickException: for what there is not, or a settings file that is none.
        ScoringError: when a scorer cannot be built.
    """
    evaluation, labeler = read_settings(settings)
    evaluation["nlg"] = {**evaluation["nlg"], **nlg}
    if weights is not None:
        evaluation[_WEIGHED] = {**(evaluation.get(_WEIGHED) or {}), "weights": str(weights)}
    read_by = list(dict.fromkeys(labelers or evaluation.get("labelers") or ["rules"]))
    asked = metrics or evaluation.get("families") or WITHOUT_MODEL
    with _naming_option():
        wanted = Wanted(asked, read_by, evaluation)
    if "ce" not in wanted.families:
        read_by = []
    readers = [CachedLabeler(build_labeler(name, model, device, labeler), most=_KEPT) for name in read_by]
    source = str(settings or "--settings")
    record: dict[str, Any] = {"metrics": wanted.items}
    for name in read_by:
        own = {} if model is None else {"model": model.name, "sha256": sha256(model), "device": device}
        record[name] = labeler["rules"] if name == "rules" else own
    record |= {family: evaluation[family] for family in wanted.families if family in evaluation}
    if weights is not None and _WEIGHED in record:
        record[_WEIGHED] = {**record[_WEIGHED], "weights": weights.name, "sha256": sha256(weights)}
    scorers = {name: build_scorer(name, evaluation, readers, source) for name in wanted.families}
    return Scoring(wanted, readers, scorers, record)


@dataclass(frozen=True, slots=True)
class Part:
    """Some reports scored.

    Args:
        scores: by family.
        labels: by labeler, those of references and hypotheses, shape (N, 14) each.
    """

    scores: Mapping[str, Scores]
    labels: Mapping[str, tuple[LabelMatrix, LabelMatrix]]


class Run:
    """One family beside the other over the pairs, part by part, for the time of a `with` block.

    Args:
        given: what the command line says.
        scoring: by whom.
    """

    def __init__(self, given: Given, scoring: Scoring) -> None:
        self._given, self._scoring = given, scoring
        self._scorings = {family: scoring_by_parts(scorer) for family, scorer in scoring.scorers.items()}
        self._numbers: Sequence[int] = ()
        self._stack = ExitStack()

    def __enter__(self) -> Run:
        for scoring in self._scorings.values():
            self._stack.enter_context(scoring)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def learn(self, pairs: Pairs) -> None:
        """Take in the pairs, all of which are learnt before one is scored."""
        for scoring in self._scorings.values():
            scoring.learn(pairs.references, pairs.hypotheses)

    def ready(self, numbers: Sequence[int]) -> None:
        """All are learnt.

        Args:
            numbers: of the rows that the pairs come from, for messages.

        Raises:
            ScoringError: naming the row of a report that could not be scored.
        """
        self._numbers = numbers
        with self._given.progress("scoring", len(self._scorings), "families") as bar:
            for family, scoring in self._scorings.items():
                bar.set_description(f"scoring {family}")
                self._named(family, scoring.ready)
                bar.update()

    def score(self, pairs: Pairs) -> Part:
        """Score some pairs, in the order in which they were learnt.

        Args:
            pairs: the reports.

        Returns:
            Their scores and labels.

        Raises:
            ScoringError: as `ready`.
        """
        texts = (pairs.references, pairs.hypotheses)
        scores = {
            family: self._named(family, partial(scoring.score, *texts))
            for family, scoring in self._scorings.items()
        }
        labels = {one.name: (one.label(texts[0]), one.label(texts[1])) for one in self._scoring.readers}
        return Part(scores, labels)

    def corpus(self) -> dict[str, Scores]:
        """The figures over all reports by family.

        Raises:
            click.BadParameter: when a metric that was asked for is none.
        """
        scores = {family: self._named(family, scoring.corpus) for family, scoring in self._scorings.items()}
        found = {name: [*one.corpus, *one.skipped] for name, one in scores.items()}
        with _naming_option():
            self._scoring.wanted.require_found(found)
        return scores

    def _named(self, family: str, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except (ScoringError, ValueError) as error:
            message = _with_rows(str(error), self._given, self._numbers)
            raise ScoringError(f"{family}: {message}") from error


@contextmanager
def _naming_option() -> Iterator[None]:
    """Say of a metric that is none where it is asked for."""
    try:
        yield
    except UnknownMetric as error:
        raise click.BadParameter(f"{error}; --list-metrics names all", param_hint="--metrics") from None


def _with_rows(message: str, given: Given, numbers: Sequence[int]) -> str:
    """The message, with each report's row in the file."""

    def named(found: re.Match[str]) -> str:
        place = int(found[2])
        return f"{found[1]} of row {numbers[place]}" if place < len(numbers) else found[0]

    return f"{_NAMED.sub(named, message)} ({given.name})"
