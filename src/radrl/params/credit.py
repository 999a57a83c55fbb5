"""An arm's `credit`: how a report's advantage is spread over its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from radrl.algorithms.saliency import Normalise
from radrl.algorithms.tf_idf import InverseFrequency, TermFrequency
from radrl.params.base import Section

Strength = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class TfIdf(Section):
    """DiTPO's rule: weights by TF-IDF within a film's rollouts (DEER, eq. 7 and 8)."""

    alpha: Strength
    tf: TermFrequency
    idf: InverseFrequency


class Gradient(Section):
    """DiTPO's gradient: weights by a CheXbert's saliencies (DEER, eq. 9 to 12)."""

    beta: Strength
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


class Credit(Section):
    """One of them, or the word uniform."""

    tf_idf: TfIdf | None = None
    gradient: Gradient | None = None

    @model_validator(mode="before")
    @classmethod
    def _one(cls, given: Any) -> Any:
        if given == "uniform":
            return {}
        kinds = "uniform, or one of tf_idf and gradient with its settings"
        if not isinstance(given, Mapping):
            raise ValueError(f"{given!r} is no credit; give {kinds}")
        if given.keys() <= cls.model_fields.keys() and sum(own is not None for own in given.values()) != 1:
            raise ValueError(f"give {kinds}")
        return given

    @model_serializer(mode="wrap")
    def _as_written(self, dump: SerializerFunctionWrapHandler) -> Any:
        return dump(self) if self.model_fields_set else "uniform"


UNIFORM: Final = Credit.model_validate("uniform")
