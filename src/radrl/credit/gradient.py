"""Tokens weighed by a CheXbert's saliencies (DiTPO's gradient; DEER, eq. 9 to 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator

from radrl.algorithms.saliency import Normalise, gradient_weights, target_labels
from radrl.credit.base import Rollouts, TokenWeights, places_of
from radrl.labelers import Labeler
from radrl.parts.section import Section, takes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from radrl.labelers.chexbert.labeler import CheXbertLabeler
    from radrl.policy.spans import ByteLevelSpans


class GradientSection(Section):
    """DiTPO's gradient: weights by a CheXbert's saliencies (DEER, eq. 9 to 12)."""

    beta: Annotated[float, Field(ge=0)]
    normalise: Normalise
    uncertain_as_positive: bool
    no_finding: bool
    uncertain: bool
    labeler: Literal["chexbert", "chexbert_compact"]

    @field_validator("labeler", mode="before")
    @classmethod
    def _has_gradients(cls, name: Any) -> Any:
        if name == "rules":
            raise ValueError("rules have no gradients; set it to chexbert_compact or chexbert")
        return name


class Gradient:
    """Tokens that move the labeler's logits of the reference's findings weigh more: DEER, eq. 9 to 12.

    The labeler remembers the labels that this forward pass gives, so a reward that asks the same labeler
    afterwards needs none of its own.

    Args:
        spans: of the policy's tokenizer.
        labeler: whose gradients are taken; it labels the references too.
        beta: strength, not negative.
        normalise: what saliencies are divided by.
        uncertain_as_positive: whether uncertain labels of the reference are among the targets.
        no_finding: whether No Finding may be.
        uncertain: whether the uncertain class's logits are summed too.
    """

    def __init__(
        self,
        spans: ByteLevelSpans,
        labeler: CheXbertLabeler,
        *,
        beta: float,
        normalise: Normalise,
        uncertain_as_positive: bool,
        no_finding: bool,
        uncertain: bool,
    ) -> None:
        self.spans, self.labeler, self.beta, self.normalise = spans, labeler, beta, normalise
        self.uncertain_as_positive, self.no_finding = uncertain_as_positive, no_finding
        self.uncertain = uncertain

    def weigh(self, rollouts: Rollouts) -> TokenWeights:
        """See `radrl.credit.base.Credit`."""
        from radrl.labelers.chexbert.saliency import token_saliency

        places = places_of(self.spans, rollouts)
        chosen = target_labels(
            self.labeler.label(rollouts.references),
            uncertain_as_positive=self.uncertain_as_positive,
            no_finding=self.no_finding,
        )
        found = token_saliency(self.labeler, rollouts.reports, chosen, uncertain=self.uncertain).reports
        starts = rollouts.report_starts
        values = [
            gradient_weights(
                report.spans + start, report.values, own, beta=self.beta, normalise=self.normalise
            )
            for report, start, own in zip(found, starts, places, strict=True)
        ]
        return TokenWeights(values, places)


@takes(GradientSection)
def gradient(
    tokenizer: PreTrainedTokenizerBase,
    labelers: Callable[[str], Labeler],
    *,
    labeler: str,
    **settings: Any,
) -> Gradient:
    """Tokens that move a CheXbert's logits weigh more (DiTPO's gradient; DEER, eq. 9 to 12).

    Args:
        tokenizer: the policy's.
        labelers: gives a labeler by its name; the one that the rewards ask must be the same object, or its
            forward pass is done twice.
        labeler: name of the labeler whose gradients are taken.
        **settings: further arguments of `Gradient`.

    Raises:
        ValueError: for a labeler without gradients.
    """
    from radrl.labelers.chexbert.labeler import CheXbertLabeler
    from radrl.policy.spans import ByteLevelSpans

    reader = labelers(labeler)
    if not isinstance(reader, CheXbertLabeler):
        raise ValueError(
            f"credit.gradient.labeler is {labeler}, which has no gradients; "
            "set it to chexbert_compact or chexbert"
        )
    return Gradient(ByteLevelSpans(tokenizer), reader, **settings)
