"""What a section says beyond what is so anyway, and a digest of it that lasts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from radrl.parts.section import Neutral


def stated_values(section: BaseModel, prefix: str = "", *, without: Collection[str] = ()) -> dict[str, Any]:
    """What a section says, by dotted key: what changes nothing is left out.

    Nulls are left out, and keys at their default or at their neutral value (`radrl.parts.section.Neutral`).
    So a key that is new, and does at that value what there was before it, adds nothing. A number is the same
    number however it is written: 1 is 1.0.

    Args:
        section: as it was read.
        prefix: put before each key.
        without: keys of the section itself that are left out.

    Returns:
        The values, as JSON holds them; a section within it of which nothing is left is there as `{}`, because
        it matters that a part is named.
    """
    found: dict[str, Any] = {}
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if name not in without and not _neutral(field, value):
            found |= _leaves(value, f"{prefix}{name}")
    return found


def digest_of(values: Mapping[str, Any]) -> str:
    """A digest of what is stated.

    Args:
        values: of `stated`, of one section or several.

    Returns:
        SHA-256, in hexadecimal digits.
    """
    return hashlib.sha256(json.dumps(values, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _neutral(field: FieldInfo, value: Any) -> bool:
    marks = [mark.value for mark in field.metadata if isinstance(mark, Neutral)]
    if not field.is_required():
        marks.append(field.get_default(call_default_factory=True, validated_data={}))
    return value is None or value in marks


def _leaves(value: Any, key: str) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return stated_values(value, f"{key}.") or {key: {}}
    if isinstance(value, Mapping):
        return dict(_entries(value, key))
    return {key: _plain(value)}


def _entries(value: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    for name, own in value.items():
        if own is not None:
            yield from _leaves(own, f"{key}.{name}").items()


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
