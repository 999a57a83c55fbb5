"""What every scorer gives back, whatever tool or model it asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from radrl.evaluation.summed import FloatArray, SummedMetrics


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
            ScoringError: naming the report, or the tool and what is wrong with it.
        """
        ...
