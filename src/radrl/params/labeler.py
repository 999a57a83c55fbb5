"""The section `labeler`: who reads the 14 observations out of a report."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from radrl.params.base import LocalPath, PositiveFloat, PositiveInt, Section, Share

LabelerName = Literal["rules", "chexbert", "chexbert_compact"]


class Rules(Section):
    """The rule labeler's readings."""

    alternatives: Literal["uncertain", "positive"]
    other_findings: bool


class Compact(Section):
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
    def _divides(self) -> Compact:
        if self.hidden % self.heads:
            raise ValueError(f"heads {self.heads} does not divide hidden {self.hidden}")
        return self


class Labeler(Section):
    """Who reads the 14 observations out of a report."""

    name: LabelerName
    rules: Rules
    device: str
    chexbert: LocalPath | None
    compact: Compact | None

    def require(self, name: str, key: str) -> None:
        """Refuse a labeler that has no model, naming the key that asks for it."""
        lacking = {"chexbert": self.chexbert is None, "chexbert_compact": self.compact is None}
        if lacking.get(name):
            raise ValueError(f"{key} is {name} but labeler.{name.removeprefix('chexbert_')} is null")
