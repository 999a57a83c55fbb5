"""The sections `eval` and `compare`."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from radrl.params.data import Cleaning, LabelsOf
from radrl.params.parts import Parts, needs_settings, one_of
from radrl.parts.builtin import BUILTIN
from radrl.parts.section import PositiveInt, Section


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
    def named(cls, valid: tuple[str, ...]) -> dict[str, Any]:
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
