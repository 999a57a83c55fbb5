"""FactS (OraPO, eq. 13-15): a report's facts, what they entail, and the reward against a reference's labels.

A fact is a short text that stands on its own ("no pleural effusion", "linear atelectasis at the left base"),
so that either part can be exchanged for another that knows nothing of the first.

A verdict is about one statement an observation: that the film shows it. It never sees the reference, which
comes in when `FactS` compares. So a judge cannot be led by the right answer, and its
answers serve every reference.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

import numpy as np

from radrl.algorithms.f_measure import FloatArray, Labels, f_beta
from radrl.algorithms.facts import Verdicts, fact_precision_recall, fact_verdicts
from radrl.observations import BLANK, NEGATIVE, OBSERVATIONS, POSITIVE
from radrl.scoring import Missing, refuse_unscored, require_missing

Facts = tuple[str, ...]
"""Atomic facts of one report, in its order, each a text that is not blank; none for an empty report."""

Outcome = Literal["entailed", "contradicted", "missing", "unsupported"]
_OUTCOMES: Final[tuple[Outcome, ...]] = ("entailed", "contradicted", "missing", "unsupported")
"""Of a label that is both contradicted and missing the first is told."""
_NAMES: Final = {("judge", "judge"): "facts", ("rules", "rules"): "facts_rules"}
_MEND: Final = (
    "Run again for what failed on the way (usable answers are in the judge's cache, if it has one), or set "
    "missing to skip to leave out what cannot be read"
)


class Verdict(enum.IntEnum):
    """What facts say of the statement that a film shows an observation, as the class index it amounts to."""

    SILENT = BLANK
    SUPPORTED = POSITIVE
    CONTRADICTED = NEGATIVE


class Ruling(NamedTuple):
    """A verdict and the facts it rests on.

    Args:
        verdict: about one observation.
        facts: numbers of the facts that support or contradict it, from 0; none where they are silent, or
            where the report was judged as a whole.
    """

    verdict: Verdict
    facts: tuple[int, ...] = ()


Rulings = tuple[Ruling, ...]
"""14 of them, in the order of `radrl.observations.OBSERVATIONS`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a report has no facts or no verdicts; never to be taken for a report that states nothing.

    Args:
        reason: what was wrong, without the report's text.
    """

    reason: str


class Extractor(Protocol):
    """Writes the atomic facts of reports.

    Attributes:
        name: goes into the reward's name (``rules``, ``judge``).
    """

    name: str

    @property
    def about(self) -> dict[str, str]:
        """What its facts depend on beside its name, for the record."""
        ...

    def extract(self, reports: Sequence[str]) -> list[Facts | Failure]:
        """Write the facts of reports.

        Args:
            reports: N report texts; an empty one has no facts.

        Returns:
            N times facts, or why there are none.

        Raises:
            ScoringError: when no report can be read at all, with the mend.
        """
        ...


class Entailment(Protocol):
    """Tests the 14 observations on facts.

    Attributes:
        name: goes into the reward's name (``rules``, ``judge``, ``labeler``).
        uncertain_as_positive: whether a hedged fact ("possible pneumonia") supports its observation; where
            not, it is silent about it. It never contradicts.
    """

    name: str
    uncertain_as_positive: bool

    @property
    def about(self) -> dict[str, str]:
        """What its verdicts depend on beside its name, for the record."""
        ...

    def entail(self, facts: Sequence[Facts], reports: Sequence[str]) -> list[Rulings | Failure]:
        """Test the observations.

        Args:
            facts: of N reports; without any, all 14 verdicts are silent, but for who reads reports.
            reports: the N texts, for who reads them as a whole.

        Returns:
            N times 14 rulings, or why there are none.

        Raises:
            ScoringError: when no facts can be judged at all, with the mend.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """How one report came by its score.

    Args:
        id: of the report.
        facts: what was extracted; none where that failed.
        rulings: 14, with the facts that each rests on; none where a part failed.
        outcomes: by label, how it entered precision and recall; labels that did not are left out.
        precision: in [0, 1]; NaN where a part failed.
        recall: likewise.
        score: F-beta, in [0, 1]; NaN where a part failed.
        failure: which part failed and why; nothing where none did.
    """

    id: str
    facts: Facts
    rulings: Rulings
    outcomes: dict[str, Outcome]
    precision: float
    recall: float
    score: float
    failure: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FactScores:
    """Scores of N generated reports.

    Args:
        scores: F-beta, shape (N,); NaN where a report has none and the scorer may leave it out.
        reports: N times how the score came about.
    """

    scores: FloatArray
    reports: list[ReportFacts]


class FactS:
    """OraPO's reward by facts: F-beta of the labels that a report's facts entail.

    Named ``facts`` where a judge does both parts, ``facts_rules`` where rules do, and after both parts where
    they differ (``facts_rules_judge``).

    Args:
        extractor: writes the facts of a report, eq. 13.
        entailment: says what they entail, eq. 14; its reading of doubt is the reference's too.
        beta: weight of recall in eq. 15.
        xi: stabiliser of eq. 15.
        both_empty: precision and recall of a report that claims nothing where the reference has no positive
            label.
        missing: what becomes of a report that a part failed on: ``raise``, or ``skip`` to give it NaN. It is
            never scored.

    Raises:
        ValueError: for another value of `missing`.
    """

    def __init__(
        self,
        extractor: Extractor,
        entailment: Entailment,
        *,
        beta: float = 1.5,
        xi: float = 1e-8,
        both_empty: float = 1.0,
        missing: Missing = "raise",
    ) -> None:
        require_missing(missing)
        self.extractor, self.entailment, self.missing = extractor, entailment, missing
        self.beta, self.xi, self.both_empty = beta, xi, both_empty
        self.name = _NAMES.get((extractor.name, entailment.name), f"facts_{extractor.name}_{entailment.name}")

    @property
    def about(self) -> dict[str, str]:
        """What the scores depend on, for the record."""
        told = {
            "beta": str(self.beta),
            "xi": str(self.xi),
            "both_empty": str(self.both_empty),
            "uncertain_as_positive": str(self.entailment.uncertain_as_positive),
            "extractor": self.extractor.name,
            "entailment": self.entailment.name,
        }
        told |= {f"extractor_{key}": value for key, value in self.extractor.about.items()}
        return told | {f"entailment_{key}": value for key, value in self.entailment.about.items()}

    def score(self, hypotheses: Sequence[str], labels: Labels, ids: Sequence[str]) -> FactScores:
        """Score generated reports.

        Args:
            hypotheses: N generated reports; an empty one states nothing.
            labels: of their references, class indices, shape (N, 14).
            ids: N ids, for messages and details; they may repeat.

        Returns:
            One score a report, and how it came about.

        Raises:
            ValueError: the numbers differ, or an entry of `labels` is no class index.
            ScoringError: naming the first report that a part failed on and how many there are, when they may
                not be left out or none is left; or when a part cannot be asked at all.
        """
        labels = np.asarray(labels)
        if labels.shape != (len(hypotheses), len(OBSERVATIONS)) or len(ids) != len(hypotheses):
            raise ValueError(
                f"{len(hypotheses)} reports, {len(ids)} ids and labels of shape {labels.shape}; give each "
                f"report an id and {len(OBSERVATIONS)} labels"
            )
        facts = self.extractor.extract(hypotheses)
        rulings = self._rulings(facts, hypotheses)
        failures = [
            (of, own.reason) for of, own in zip(ids, rulings, strict=True) if isinstance(own, Failure)
        ]
        refuse_unscored(failures, len(ids), self.missing, score=self.name, mend=_MEND)
        claimed = np.zeros(labels.shape, np.int8)  # (N, 14)
        for row, own in enumerate(rulings):
            if not isinstance(own, Failure):
                claimed[row] = [ruling.verdict for ruling in own]
        verdicts = fact_verdicts(labels, claimed, uncertain_as_positive=self.entailment.uncertain_as_positive)
        numbers = self._numbers(verdicts)
        numbers[:, [isinstance(own, Failure) for own in rulings]] = math.nan
        reports = [
            _report(of, facts[row], rulings[row], _outcomes(verdicts, row), numbers[:, row].tolist())
            for row, of in enumerate(ids)
        ]
        return FactScores(numbers[2], reports)

    def _rulings(self, facts: Sequence[Facts | Failure], reports: Sequence[str]) -> list[Rulings | Failure]:
        """Rulings on what was extracted; where that failed, why."""
        there = [
            (own, report) for own, report in zip(facts, reports, strict=True) if not isinstance(own, Failure)
        ]
        found = self.entailment.entail([own for own, _ in there], [report for _, report in there])
        rulings = iter(found)
        return [
            Failure(f"no facts, {own.reason}") if isinstance(own, Failure) else _ruled(next(rulings))
            for own in facts
        ]

    def _numbers(self, verdicts: Verdicts) -> FloatArray:
        """Precision, recall and F-beta of N reports, shape (3, N)."""
        precision, recall = fact_precision_recall(
            verdicts.entailed,
            verdicts.contradicted,
            verdicts.missing,
            verdicts.unsupported,
            both_empty=self.both_empty,
        )
        return np.stack([precision, recall, f_beta(precision, recall, beta=self.beta, xi=self.xi)])


def _ruled(rulings: Rulings | Failure) -> Rulings | Failure:
    return Failure(f"no verdicts, {rulings.reason}") if isinstance(rulings, Failure) else rulings


def _report(
    of: str,
    facts: Facts | Failure,
    rulings: Rulings | Failure,
    outcomes: dict[str, Outcome],
    numbers: Sequence[float],
) -> ReportFacts:
    known = () if isinstance(facts, Failure) else facts
    precision, recall, score = numbers
    if isinstance(rulings, Failure):
        return ReportFacts(of, known, (), {}, precision, recall, score, rulings.reason)
    return ReportFacts(of, known, rulings, outcomes, precision, recall, score)


def _outcomes(verdicts: Verdicts, row: int) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for outcome in _OUTCOMES:
        for label in np.flatnonzero(getattr(verdicts, outcome)[row]):
            found.setdefault(OBSERVATIONS[label], outcome)
    return found
