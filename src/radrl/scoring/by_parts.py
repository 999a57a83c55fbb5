"""Scoring part by part, so that no scorer needs all pairs at once unless it must."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, runtime_checkable

from radrl.evaluation import RunningSum
from radrl.scoring import Scorer, Scores, require_pairs


class ScoringByParts(ABC):
    """One scoring of N pairs in parts, for the time of a `with` block.

    Every part is learnt, then `ready` is called, then every part is scored, in the same order and of the same
    sizes or others, then `corpus` says the figures. Errors name a report by its place among all, from 0.
    """

    def __enter__(self) -> ScoringByParts:
        return self

    def __exit__(  # noqa: B027 - most courses start nothing
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what the course started."""

    def learn(  # noqa: B027 - most scores of a pair depend on nothing else
        self, references: Sequence[str], hypotheses: Sequence[str]
    ) -> None:
        """Take in what the score of a pair depends on beside the pair.

        Args:
            references: some of the references.
            hypotheses: the generated reports beside them.
        """

    def ready(self) -> None:  # noqa: B027 - as learn
        """All parts are learnt."""

    @abstractmethod
    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """Score a part.

        Args:
            references: some of the references.
            hypotheses: the generated reports beside them.

        Returns:
            Scores of these reports; of its `corpus` nothing is to be read.
        """

    @abstractmethod
    def corpus(self) -> Scores:
        """The figures over all reports, without `per_report` and `summed`."""


@runtime_checkable
class InParts(Protocol):
    """A scorer that need not hold all pairs."""

    def in_parts(self) -> ScoringByParts:
        """A course of its own."""
        ...


def scoring_by_parts(scorer: Scorer) -> ScoringByParts:
    """The course of any scorer; one that knows no parts gets all pairs at once."""
    return scorer.in_parts() if isinstance(scorer, InParts) else AllAtOnce(scorer)


class SumsByParts(ScoringByParts):
    """Of a scorer whose figures are all functions of sums over reports.

    Args:
        scorer: its `Scores.summed` has every figure, a report's own numbers hang on no other report, and it
            refuses none.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._total = RunningSum()
        self._last: Scores | None = None

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """See `ScoringByParts`."""
        self._last = self._scorer.score(references, hypotheses)
        assert self._last.summed is not None
        self._total.add(self._last.summed.per_study)
        return self._last

    def corpus(self) -> Scores:
        """See `ScoringByParts`."""
        assert self._last is not None
        assert self._last.summed is not None
        figures = self._total.values(self._last.summed.of_sums)
        return Scores(figures, {}, self._last.skipped, about=self._last.about)


class AllAtOnce(ScoringByParts):
    """Of a scorer that wants all pairs at once: they are held, and so are its numbers of each report.

    Args:
        scorer: a model in a process of its own, a function, whatever else.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._references: list[str] = []
        self._hypotheses: list[str] = []
        self._next = 0

    def learn(self, references: Sequence[str], hypotheses: Sequence[str]) -> None:
        """See `ScoringByParts`."""
        require_pairs(references, hypotheses)
        self._references.extend(references)
        self._hypotheses.extend(hypotheses)

    def ready(self) -> None:
        """Score everything."""
        self._found = self._scorer.score(self._references, self._hypotheses)
        self._references, self._hypotheses = [], []

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """The part's share of what was found."""
        part = slice(self._next, self._next + len(references))
        self._next = part.stop
        found = self._found
        own = {name: values[part] for name, values in found.per_report.items()}
        return Scores({}, own, summed=None if found.summed is None else found.summed.part(part))

    def corpus(self) -> Scores:
        """See `ScoringByParts`."""
        return Scores(self._found.corpus, {}, self._found.skipped, about=self._found.about)
