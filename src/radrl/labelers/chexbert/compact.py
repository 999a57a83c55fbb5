"""The labeler `chexbert_compact` as params.yaml names it, and the section that its training takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from radrl.labelers import Labeler
from radrl.parts.section import PositiveFloat, PositiveInt, Section, Share, takes


class CompactSection(Section):
    """CheXbert's architecture, small, trained here on the rules' labels."""

    vocab_size: Annotated[int, Field(ge=100)]
    hidden: PositiveInt
    layers: Annotated[int, Field(ge=2)]
    heads: PositiveInt
    feed_forward: PositiveInt
    max_tokens: Annotated[int, Field(ge=8, le=512)]
    recombined: PositiveInt
    reworded: Annotated[int, Field(ge=0)]
    longest: Annotated[int, Field(ge=2)]
    batch_size: PositiveInt
    learning_rate: PositiveFloat
    warmup_share: Share
    weight_decay: Annotated[float, Field(ge=0)]
    gradient_clip: PositiveFloat

    @model_validator(mode="after")
    def _divides(self) -> CompactSection:
        if self.hidden % self.heads:
            raise ValueError(f"heads {self.heads} does not divide hidden {self.hidden}")
        return self


@takes(CompactSection)
def chexbert_compact(models: Path | None, device: str, remembers: bool = True, **training: Any) -> Labeler:
    """CheXbert's architecture, small, trained here on the rules' labels (`labeler.compact`).

    Args:
        models: what the stage `labeler` wrote.
        device: where it runs.
        remembers: whether it keeps labels from call to call.
        **training: what it was trained with, which its weights hold.
    """
    from radrl.labelers.chexbert.labeler import stored

    return stored(models, "chexbert_compact", device=device, key="labeler.compact", remembers=remembers)
