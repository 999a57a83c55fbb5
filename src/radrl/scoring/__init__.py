"""Scorers that need a tool or a model, and what every one of them gives back.

Lives here: what scores pairs of reports and needs more than arithmetic: a Java program, a package in an
environment of its own, a judge, rules that read a report. What can be computed from labels alone is in
`evaluation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from radrl.evaluation import FloatArray, SummedMetrics, mean_metrics

Missing = Literal["raise", "skip"]
"""What becomes of a report that has no score."""


class ScoringError(RuntimeError):
    """A scorer could not score a report, or its tool is broken; the message names which and the mend."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of N generated reports.

    Args:
        corpus: by metric name, the figure over all reports. BLEU and METEOR pool counts and are no means.
        per_report: by metric name, one value a report, shape (N,) each; NaN where a report has no score and
            the scorer was allowed to leave it out.
        skipped: by metric name, why it is missing.
        summed: the metrics as functions of sums over studies, for the bootstrap; nothing when none is one.
        about: what else a figure depends on, such as a model's name or a package's version.
    """

    corpus: dict[str, float]
    per_report: dict[str, FloatArray]
    skipped: dict[str, str] = field(default_factory=dict)
    summed: SummedMetrics | None = None
    about: dict[str, str] = field(default_factory=dict)


class Scorer(Protocol):
    """Scores generated reports against their references.

    An attribute `wording`, true, says that it measures wording: it is given texts as a paper's cleaning
    leaves them, all others as they were written (`radrl.scoring`). An attribute `by_pair`, true, says
    that a pair's numbers hang on no other pair and that every figure is a mean of them, so that workers may
    share the pairs (`radrl.scoring.build`); such a scorer asks for no labelers. A method
    ``explained(references, hypotheses)`` gives, by the name of a column, for each pair the rows that its
    score comes from; the stage eval keeps them beside the scores of each report.

    Attributes:
        name: of the family of metrics it gives; every metric's name begins with it.
    """

    name: str

    def score(self, references: Sequence[str], hypotheses: Sequence[str]) -> Scores:
        """Score reports.

        Args:
            references: N reference reports.
            hypotheses: the N generated reports; an empty one is scored as it stands.

        Returns:
            Corpus and per-report figures; what cannot be had is in `skipped` with the reason.

        Raises:
            ValueError: the numbers differ, or there is no report.
            ScoringError: naming the report, or the tool and what is wrong with it.
        """
        ...


def require_pairs(references: Sequence[str], hypotheses: Sequence[str]) -> None:
    """Refuse what is no list of pairs.

    Args:
        references: N reference reports.
        hypotheses: as many generated ones.

    Raises:
        ValueError: the numbers differ, or there is no report.
    """
    if len(references) != len(hypotheses) or not references:
        raise ValueError(f"{len(references)} references, {len(hypotheses)} hypotheses; give a pair a study")


def require_missing(missing: str) -> None:
    """Refuse what is no value of `Missing`.

    Args:
        missing: as given.

    Raises:
        ValueError: naming the value and the valid ones.
    """
    if missing not in get_args(Missing):
        raise ValueError(f"unknown value {missing!r} of missing; valid: {', '.join(get_args(Missing))}")


def refuse_unscored(
    failures: Sequence[tuple[object, str]], total: int, missing: Missing, *, score: str, mend: str
) -> None:
    """Refuse reports without a score where they may not be left out, or none is left.

    Args:
        failures: of each such report its row or id, and why it has none.
        total: how many reports there are.
        missing: whether they may be left out.
        score: its name.
        mend: what to do, in whole sentences.

    Raises:
        ScoringError: naming the first and how many there are.
    """
    if failures and (missing == "raise" or len(failures) == total):
        which, reason = failures[0]
        raise ScoringError(
            f"report {which} has no {score} score: {reason} ({len(failures)} of {total} reports have none). "
            f"{mend}"
        )


def means_of(values: Mapping[str, npt.ArrayLike], *, about: Mapping[str, str] | None = None) -> Scores:
    """Scores of which each is its mean over the reports.

    Args:
        values: by metric name, one value a report, shape (N,) each.
        about: what else the figures depend on.

    Returns:
        The means, the values, and the means as functions of sums.
    """
    per_report = {name: np.asarray(given, np.float64) for name, given in values.items()}
    means = mean_metrics(per_report)
    return Scores(means.values(), per_report, summed=means, about=dict(about or {}))


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """N texts.

    Args:
        wording: as a paper's cleaning leaves them, for metrics that count words in common.
        clinical: what all others read, that look for findings; the same where nothing is cleaned.
    """

    wording: Sequence[str]
    clinical: Sequence[str]

    def read_by(self, scorer: object) -> Sequence[str]:
        """The form that a scorer reads: `wording` where its attribute `wording` is true."""
        return self.wording if getattr(scorer, "wording", False) else self.clinical
