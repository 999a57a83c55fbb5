"""Sections `eval`, `compare` and `ceilings`: how reports are looked at."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from radrl.params.data import Cleaning, LabelsOf
from radrl.params.parts import Parts, needs_settings, one_of
from radrl.parts.builtin import BUILTIN
from radrl.parts.section import PositiveFloat, PositiveInt, Section, Split


class Eval(Parts):
    """Scores of one arm; a family of metrics that needs a model or a tool has a section of its own."""

    kind: ClassVar = "metric"
    keys: ClassVar = {name: name for name in BUILTIN["metric"]}
    always: ClassVar = {"nlg": False}

    families: list[str]
    cleaning: Cleaning
    labels_of: LabelsOf
    max_report_words: PositiveInt | None
    labelers: Annotated[list[str], Field(min_length=1)]
    headline: list[str]

    @classmethod
    def name_fields(cls, valid: tuple[str, ...]) -> dict[str, Any]:
        """Families are some of these."""
        return {"families": (Annotated[list[one_of(valid)], Field(min_length=1)], ...)}  # type: ignore[misc]

    @model_validator(mode="after")
    def _models_are_named(self) -> Eval:
        for name in self.families:
            if name not in self.parts() and needs_settings(self.kind, name):
                raise ValueError(f"families lists {name}, but its section eval.{name} is not set")
        return self


class Bootstrap(Section):
    """Intervals over patients."""

    resamples: PositiveInt
    confidence: Annotated[float, Field(gt=0, lt=1)]


class Compare(Section):
    """The table of arms."""

    reference: str
    systems: dict[str, str]
    metrics: list[str]
    bootstrap: Bootstrap
    examples: Annotated[int, Field(ge=0)]

    @field_validator("systems")
    @classmethod
    def _names(cls, systems: dict[str, str]) -> dict[str, str]:
        """The stage compare depends on one folder: a file that lay elsewhere could change unseen."""
        for name, file in systems.items():
            if not re.fullmatch(r"\w[\w +-]*", name):
                raise ValueError(f"{name!r}: a row's name is letters, digits, underscores, blanks, + and -")
            if not re.fullmatch(r"[\w+-][\w.+-]*\.json", file):
                raise ValueError(
                    f"{name}: {file!r} is no name of a JSON file; put what `radrl score --json` wrote into "
                    "conf/base/systems and name it without its folder"
                )
        return systems


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
