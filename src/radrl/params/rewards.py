"""The parts of an arm's reward, `arms.<name>.reward` in params.yaml.

Every part has `weight`; `phase_switch`, the share of the steps at which that weight begins to count, and
`first_weight`, which counts until then; and `missing`, whether a report that the part has no score for stops
the run or goes without the part.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from radrl.algorithms.schedules import two_phase
from radrl.params.base import PositiveFloat, Section, Share
from radrl.params.evaluation import EndpointJudge, FolderJudge
from radrl.reports.think_report import FAULTS, Fault

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Missing = Literal["raise", "skip"]
Preparation = Literal["whitespace", "basic"]
Credit = Annotated[float, Field(ge=0, lt=1)]
Reader = Literal["rules", "judge"]


class ClinicalF1(Section):
    """The report's own F1 over its labels (DEER eq. 1, first term)."""

    weight: Weight
    uncertain_as_positive: bool
    both_empty: Share
    phase_switch: Share = 0.0
    first_weight: Weight = 0.0
    missing: Missing = "raise"


class Bleu2(Section):
    """BLEU-2 of a report (DEER eq. 1, second term); the paper's weight is 0.25, in its second phase."""

    weight: Weight
    preparation: Preparation
    phase_switch: Share
    first_weight: Weight = 0.0
    missing: Missing = "raise"


class Nlg(Section):
    """The mean of BLEU, ROUGE-L and a tenth of CIDEr (MRG-R1, table II)."""

    weight: Weight
    preparation: Preparation
    bleu: Annotated[int, Field(ge=1, le=4)]
    phase_switch: Share = 0.0
    first_weight: Weight = 0.0
    missing: Missing = "raise"


class Accuracy(Section):
    """Whether the labels are right (OraPO, table 4)."""

    weight: Weight
    agreement: Literal["all", "share"]
    uncertain_as_positive: bool
    phase_switch: Share = 0.0
    first_weight: Weight = 0.0
    missing: Missing = "raise"


class Mccs(Section):
    """Margin CheXbert Cosine Similarity (MRG-R1 eq. 3 to 6)."""

    weight: Weight
    margin: Annotated[float, Field(gt=-1, lt=1)]
    eps: PositiveFloat
    phase_switch: Share = 0.0
    first_weight: Weight = 0.0
    missing: Missing = "raise"


class Format(Section):
    """The credit of an output's form (MRG-R1); `credits` gives each fault another than the table's."""

    weight: Weight
    credits: dict[Fault, Credit] | None = None
    phase_switch: Share = 0.0
    first_weight: Weight = 0.0
    missing: Missing = "raise"

    @model_validator(mode="after")
    def _every_fault(self) -> Format:
        if self.credits is not None and (absent := [fault for fault in FAULTS if fault not in self.credits]):
            raise ValueError(f"credits lacks {', '.join(absent)}; give every fault one, or leave it out")
        return self


class FactsEndpoint(EndpointJudge):
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


class Facts(Section):
    """FactS (OraPO eq. 13 to 15), by rules or by a judge."""

    weight: Weight
    extractor: Reader
    entailment: Reader
    uncertain_as_positive: bool
    beta: PositiveFloat
    xi: PositiveFloat
    both_empty: Share
    judge: FactsEndpoint | FolderJudge | None = Field(default=None, discriminator="backend")
    phase_switch: Share = 0.0
    first_weight: Weight = 0.0
    missing: Missing = "raise"

    @model_validator(mode="after")
    def _judge_is_named(self) -> Facts:
        asked = [key for key in ("extractor", "entailment") if getattr(self, key) == "judge"]
        if asked and self.judge is None:
            raise ValueError(f"{asked[0]} is judge, but there is no section judge: say which, or take rules")
        if self.judge is not None and not asked:
            raise ValueError("judge is set, but extractor and entailment are rules; nobody would ask it")
        return self


CLINICAL: Final = ("ce_f1", "accuracy", "mccs", "facts")
"""Parts that judge findings, so that 0 says that nothing was right (`clinical` of `radrl.rewards.base`)."""


class Reward(Section):
    """The parts an arm's reward is the weighted sum of."""

    ce_f1: ClinicalF1 | None = None
    bleu2: Bleu2 | None = None
    nlg: Nlg | None = None
    accuracy: Accuracy | None = None
    mccs: Mccs | None = None
    format: Format | None = None
    facts: Facts | None = None

    @property
    def clinical(self) -> bool:
        """Whether a part of it that weighs something judges findings."""
        parts = [part for name in CLINICAL if (part := getattr(self, name)) is not None]
        return any(part.weight or part.first_weight for part in parts)

    @model_validator(mode="after")
    def _some(self) -> Reward:
        parts = {name: part for name in type(self).model_fields if (part := getattr(self, name)) is not None}
        if not parts:
            raise ValueError("an arm that trains needs at least one reward")
        for name, part in parts.items():
            if part.first_weight and not part.phase_switch:
                raise ValueError(
                    f"{name}.first_weight counts until phase_switch, which is 0; set both or none"
                )
        for share in sorted({0.0, *(part.phase_switch for part in parts.values())} - {1.0}):
            if not any(_weight(part, share) for part in parts.values()):
                raise ValueError(
                    f"every weight is 0 when a share of {share:g} of the steps is done; give a part a weight "
                    "above 0, or a first_weight where its phase_switch is still to come"
                )
        return self


def _weight(part: ClinicalF1 | Bleu2 | Nlg | Accuracy | Mccs | Format | Facts, share: float) -> float:
    return float(
        two_phase(share, phase_switch=part.phase_switch, first=part.first_weight, second=part.weight)
    )
