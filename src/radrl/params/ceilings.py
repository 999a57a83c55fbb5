"""The section `ceilings`: how much of the labels can be read off the films."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from radrl.parts.section import PositiveFloat, PositiveInt, Section, Split


class Learned(Section):
    """The films whose reference labels are learned from; `films` at most, drawn at random."""

    splits: Annotated[list[Split], Field(min_length=1)]
    films: PositiveInt


class Network(Learned):
    """A small convolutional network."""

    channels: PositiveInt
    epochs: PositiveInt
    batch_size: PositiveInt
    learning_rate: PositiveFloat
    weight_decay: Annotated[float, Field(ge=0)]


class Probe(Learned):
    """Logistic regression on what a policy's frozen vision tower makes of a film."""

    inverse_regularisation: PositiveFloat


class Ceilings(Section):
    """What reads labels off films and writes no text.

    `start` is the policy whose tower is probed beside the base policy's; `base` where a study has no cold
    start. It stands outside `probe`, which may be null, because it tells DVC which policy the stage needs.
    """

    start: Literal["base", "sft"]
    network: Network | None
    probe: Probe | None

    def learned(self) -> dict[str, Learned]:
        """The parts that learn from films, by key."""
        parts = {"network": self.network, "probe": self.probe}
        return {name: part for name, part in parts.items() if part is not None}
