"""What every section of the schema is made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
Split = Literal["pretrain", "train", "val", "test"]


class ParamsError(ValueError):
    """params.yaml holds something the schema refuses; the message names the key and the mend."""


class Section(BaseModel):
    """A block of params.yaml: unknown keys are refused, numbers are never guessed from strings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
