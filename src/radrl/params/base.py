"""What is wrong with a params.yaml, and which of its keys no record may hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from pydantic import BaseModel

from radrl.parts.section import LocalPath


class ParamsError(ValueError):
    """params.yaml holds something the schema refuses; the message names the key and the mend."""


def local_paths(section: BaseModel, prefix: str = "") -> set[str]:
    """Keys of a section that hold a `LocalPath`, with dots between levels.

    Args:
        section: as it was read, so that the sections of its parts are there.
        prefix: put before each key.

    Returns:
        The keys, those of sections within it included.
    """
    found: set[str] = set()
    for name, field in type(section).model_fields.items():
        key = f"{prefix}{name}"
        marks = _parts(field.annotation) + list(field.metadata)
        if any(mark in _MARK for mark in marks if isinstance(mark, str)):
            found.add(key)
        for at, inner in _sections(getattr(section, name)):
            found |= local_paths(inner, f"{key}{at}.")
    return found


_MARK: Final = get_args(LocalPath)[1:]


def _parts(annotation: Any) -> list[Any]:
    """A type and all it is made of: `X | None` holds X, `Annotated[X, ...]` X and the marks."""
    return [annotation] + [part for inner in get_args(annotation) for part in _parts(inner)]


def _sections(value: Any) -> Iterator[tuple[str, BaseModel]]:
    """The sections that a field holds, with what their key adds to the field's."""
    if isinstance(value, BaseModel):
        yield "", value
    elif isinstance(value, Mapping):
        yield from ((f".{name}", inner) for name, inner in value.items() if isinstance(inner, BaseModel))
