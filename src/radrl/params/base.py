"""What every section of the schema is made of."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
LocalPath = Annotated[str, "a path of this machine, which no record of a run may hold"]
Split = Literal["pretrain", "train", "val", "test"]


class ParamsError(ValueError):
    """params.yaml holds something the schema refuses; the message names the key and the mend."""


class Section(BaseModel):
    """A block of params.yaml: unknown keys are refused, numbers are never guessed from strings."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def local_paths(section: type[BaseModel], prefix: str = "") -> set[str]:
    """Keys of a section that hold a `LocalPath`, with dots between levels.

    Args:
        section: the section's class.
        prefix: put before each key.

    Returns:
        The keys, those of sections within it included.
    """
    found: set[str] = set()
    for name, field in section.model_fields.items():
        key = f"{prefix}{name}"
        parts = _parts(field.annotation) + [mark for mark in field.metadata if mark in _MARK]
        if any(part in _MARK for part in parts if isinstance(part, str)):
            found.add(key)
        for part in parts:
            if isinstance(part, type) and issubclass(part, BaseModel):
                found |= local_paths(part, f"{key}.")
    return found


_MARK: Final = get_args(LocalPath)[1:]


def _parts(annotation: Any) -> list[Any]:
    """A type and all it is made of: `X | None` holds X, `Annotated[X, ...]` X and the marks."""
    return [annotation] + [part for inner in get_args(annotation) for part in _parts(inner)]
