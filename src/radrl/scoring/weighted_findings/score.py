"""Findings weighed by what they mean for the patient, as a metric (`radrl.scoring.Scorer`).

A metric of this project, which no paper has and which stands in for nobody's. Both reports are read by rules
(`reader`), their findings matched one to one and weighed by tables (`matching`, `tables`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field

from radrl.parts.section import LocalPath, PositiveFloat, Section
from radrl.scoring import Scores, means_of, require_pairs
from radrl.scoring.by_parts import ScoringByParts, SumsByParts
from radrl.scoring.weighted_findings import Finding
from radrl.scoring.weighted_findings.explain import rows
from radrl.scoring.weighted_findings.matching import Comparison, compare
from radrl.scoring.weighted_findings.reader import findings_of
from radrl.scoring.weighted_findings.tables import Context, context_of, default, tables

Weights = LocalPath | dict[str, str | Annotated[float, Field(ge=0)]]


class WeightedFindingsSection(Section):
    """Weights other than those that ship, by file or by concept, and how misses weigh against inventions."""

    weights: Weights | None = None
    beta: PositiveFloat = 1.0


LINES: Final = "weighted_findings_lines"
"""Column of what each score comes from."""


class Costs(NamedTuple):
    """Of a pair, its score, and what is missed, false and inexact in weights."""

    score: float
    missed: float
    false: float
    inexact: float


Read = Callable[[str], tuple[Finding, ...]]


class WeightedFindings:
    """Scores reports by the weight of the findings that they miss, invent, or get wrong.

    ``weighted_findings`` is the score, from 0 to 1; the costs beside it tell where it comes from, and of
    these more is worse.

    Args:
        weights: see `radrl.scoring.weighted_findings.tables.tables`; nothing for those that ship.
        beta: above 1 a miss costs more than a false finding.
        cache_size: reports whose readings are remembered; 0 for none.

    Raises:
        ScoringError: for weights that are none.
    """

    Section = WeightedFindingsSection
    name = "weighted_findings"
    by_pair = True

    def __init__(
        self,
        *,
        weights: str | Mapping[str, str | float] | None = None,
        beta: float = 1.0,
        cache_size: int = 4_096,
    ) -> None:
        self._given: dict[str, Any] = {"weights": weights, "beta": beta, "cache_size": cache_size}
        self._tables = tables(weights) if weights else default()
        self._beta = beta
        remembered = lru_cache(maxsize=cache_size)
        self._findings_of = remembered(findings_of)
        self._briefly = remembered(partial(findings_of, brief=True))

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew in the process that it goes to, from what it was given; what it remembers stays here."""
        return partial(type(self), **self._given), ()

    def compare(self, reference: str, hypothesis: str, context: Context | None = None) -> Comparison:
        """Compare two reports.

        Args:
            reference: raw text.
            hypothesis: raw text.
            context: of the patient; by default age and indication as far as the reference says them.

        Returns:
            Score, costs, and where they come from.
        """
        return self._compared(reference, hypothesis, context, self._findings_of)

    def costs(self, reference: str, hypothesis: str, context: Context | None = None) -> Costs:
        """Compare two reports for their numbers alone, which takes less time.

        Args:
            reference: as of `compare`.
            hypothesis: as of `compare`.
            context: as of `compare`.

        Returns:
            Score and costs. The comparison itself is let go, so that memory does not grow with pairs.
        """
        found = self._compared(reference, hypothesis, context, self._briefly)
        return Costs(found.score, found.missed, found.false, found.inexact)

    def _compared(self, reference: str, hypothesis: str, context: Context | None, read: Read) -> Comparison:
        return compare(
            read(reference),
            read(hypothesis),
            self._tables,
            context=context_of(reference) if context is None else context,
            beta=self._beta,
        )

    def score(
        self,
        references: Sequence[str],
        hypotheses: Sequence[str],
        *,
        contexts: Sequence[Context | None] | None = None,
    ) -> Scores:
        """See `radrl.scoring.Scorer`; a report that states nothing, where its reference does, scores 0.

        Args:
            references: N reference reports.
            hypotheses: as many generated ones.
            contexts: of the patients, one a pair; nothing takes each from its reference.

        Returns:
            ``weighted_findings``, and the costs of missed, false and inexact findings.
        """
        require_pairs(references, hypotheses)
        known = [None] * len(references) if contexts is None else contexts
        names = (self.name, *(f"{self.name}_{kind}_cost" for kind in Costs._fields[1:]))
        found = [self.costs(*each) for each in zip(references, hypotheses, known, strict=True)]
        return means_of(dict(zip(names, zip(*found, strict=True), strict=True)))

    def explained(
        self, references: Sequence[str], hypotheses: Sequence[str]
    ) -> dict[str, list[list[dict[str, Any]]]]:
        """What each score comes from (`radrl.scoring.Scorer`).

        Args:
            references: N reference reports.
            hypotheses: as many generated ones.

        Returns:
            Under `LINES`, for each pair the rows of `radrl.scoring.weighted_findings.explain.rows`.
        """
        pairs = zip(references, hypotheses, strict=True)
        return {LINES: [rows(self.compare(*pair), *pair) for pair in pairs]}

    def in_parts(self) -> ScoringByParts:
        """See `radrl.scoring.by_parts.InParts`."""
        return SumsByParts(self)
