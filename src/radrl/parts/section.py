"""What the sections of params.yaml are made of, those of parts among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
Split = Literal["pretrain", "train", "val", "test", "away"]
LocalPath = Annotated[str, "a path of this machine, which no record of a run may hold"]


@dataclass(frozen=True, slots=True)
class Neutral:
    """Marks a key that must be written down: at this value it does what there was before there was the key.

    Digests of parameters leave it out there, so that a new key does not part a study from its results.
    """

    value: Any


F = TypeVar("F", bound=Callable[..., Any])


class Section(BaseModel):
    """A block of params.yaml: unknown keys are refused, numbers are never guessed from strings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Nothing(Section):
    """The section of a part without settings."""


def takes(section: type[Section], **said: Any) -> Callable[[F], F]:
    """Say what a function that is a part takes; a class has these as attributes.

    Args:
        section: its settings, as its attribute `Section`.
        **said: further attributes, such as `clinical`.

    Returns:
        What marks the function.
    """

    def mark(function: F) -> F:
        for name, value in {"Section": section, **said}.items():
            setattr(function, name, value)
        return function

    return mark
