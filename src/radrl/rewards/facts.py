"""FactS as a reward: what a report's facts say against the reference's labels (OraPO, eq. 13 to 15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from radrl.labelers import Labeler
from radrl.parts.section import PositiveFloat, Section, Share, takes
from radrl.rewards.base import Missing, RewardError
from radrl.scoring import ScoringError
from radrl.scoring.facts import FactS
from radrl.scoring.facts.build import build
from radrl.scoring.judge import EndpointSection, FolderSection

Extractor = Literal["rules", "judge"]
Entailment = Literal["rules", "judge", "labeler"]


class FactsEndpoint(EndpointSection):
    """A server that is asked for facts and verdicts."""

    structured: bool = True

    @model_validator(mode="after")
    def _host_is_allowed(self) -> FactsEndpoint:
        try:
            host = urlsplit(self.url).hostname
        except ValueError:
            host = None
        if host is None:
            raise ValueError("url is no address; give an API's base such as http://localhost:8000/v1")
        if host not in {name.lower() for name in self.allowed_hosts}:
            raise ValueError(
                f"allowed_hosts {self.allowed_hosts} lacks {host!r}, where url leads; reports are patient "
                "data, so name the host there if they may go to it"
            )
        return self


class FactsSection(Section):
    """FactS (OraPO eq. 13 to 15), by rules, by a judge or by the labeler of the references."""

    extractor: Extractor
    entailment: Entailment
    uncertain_as_positive: bool
    beta: PositiveFloat
    xi: PositiveFloat
    both_empty: Share
    judge: FactsEndpoint | FolderSection | None = Field(default=None, discriminator="backend")

    @model_validator(mode="after")
    def _judge_is_named(self) -> FactsSection:
        asked = [key for key in ("extractor", "entailment") if getattr(self, key) == "judge"]
        if asked and self.judge is None:
            raise ValueError(f"{asked[0]} is judge, but there is no section judge: say which, or take rules")
        if self.entailment == "labeler" and "extractor" in asked:
            raise ValueError(
                "extractor is judge, but entailment is labeler, which reads the report itself: the judge's "
                "facts would decide nothing; set extractor to rules, or entailment to judge or rules"
            )
        if self.judge is not None and not asked:
            raise ValueError(
                f"judge is set, but extractor is {self.extractor} and entailment {self.entailment}; "
                "nobody would ask it"
            )
        return self


class Facts:
    """F-beta of the labels that a report's facts entail; named after who finds and judges them.

    Args:
        labeler: who reads the references.
        facts: scores reports against their labels.
    """

    clinical = True
    reads: Literal["report", "output"] = "report"
    told: Mapping[str, float] = {}

    def __init__(self, labeler: Labeler, facts: FactS) -> None:
        self.labeler, self.facts, self.name = labeler, facts, facts.name

    def __call__(
        self, reports: Sequence[str], references: Sequence[str], sample_ids: Sequence[str]
    ) -> Sequence[float]:
        """See `radrl.rewards.base.Reward`.

        Raises:
            RewardError: when a report, or every report of the call, could not be judged.
        """
        try:
            found = self.facts.score(reports, self.labeler.label(references), sample_ids)
        except ScoringError as error:
            raise RewardError(str(error)) from error
        return [float(score) for score in found.scores]


@takes(FactsSection, clinical=True)
def facts(labeler: Labeler, missing: Missing = "raise", **settings: Any) -> Facts:
    """F-beta of the labels that a report's facts entail (OraPO, eq. 13 to 15).

    Args:
        labeler: who reads the references.
        missing: what becomes of a report without a score; FactS says why it has none.
        **settings: of `radrl.scoring.facts.build.build`.
    """
    return Facts(labeler, build({**settings, "missing": missing}, labeler))
