"""An arm's `credit`: how a report's advantage is spread over its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pydantic import SerializerFunctionWrapHandler, model_serializer

from radrl.params.parts import Parts
from radrl.parts.builtin import BUILTIN
from radrl.parts.find import names

_UNIFORM: Final = "uniform"
KEYS: Final = {name: name for name in BUILTIN["credit"] if name != _UNIFORM}
"""The built-in credits that have settings."""


class Credit(Parts):
    """One of them, or the word uniform."""

    kind: ClassVar = "credit"
    keys: ClassVar = KEYS

    @classmethod
    def read(cls, given: Any) -> Any:
        """One credit; nothing where every token weighs the same.

        Raises:
            ValueError: when it is none, or several.
        """
        if given == _UNIFORM:
            return {}
        *others, last = [name for name in names(cls.kind) if name != _UNIFORM]
        kinds = f"uniform, or one of {', '.join(others)} and {last} with its settings"
        if not isinstance(given, Mapping):
            raise ValueError(f"{given!r} is no credit; give {kinds}")
        known = all(name in cls.keys or isinstance(own, Mapping) for name, own in given.items())
        if known and sum(own is not None for own in given.values()) != 1:
            raise ValueError(f"give {kinds}")
        return given

    @model_serializer(mode="wrap")
    def _as_written(self, dump: SerializerFunctionWrapHandler) -> Any:
        return dump(self) if self.model_fields_set else _UNIFORM


UNIFORM: Final = Credit.model_validate(_UNIFORM)
