"""A part's signature read: ingredients before the `*`, settings after it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, Final

from pydantic import create_model

from radrl.parts.section import Section

_BY_PLACE: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class SignatureError(ValueError):
    """A function or class cannot be a part as it stands; the message is the end of a sentence on it."""


def ingredients(part: Callable[..., Any]) -> dict[str, bool]:
    """What stands before the `*`, and whether it has to be given.

    Args:
        part: a function or class.

    Returns:
        By name, true where there is no default.

    Raises:
        SignatureError: when it takes any number of arguments, or nobody can tell what it takes.
    """
    parameters = _parameters(part).values()
    if any(one.kind is Parameter.VAR_POSITIONAL for one in parameters):
        raise SignatureError("takes any number of arguments; name those it wants before a bare *")
    return {one.name: one.default is Parameter.empty for one in parameters if one.kind in _BY_PLACE}


def section(part: Callable[..., Any]) -> type[Section]:
    """The section of a part: its own, or one made from what stands after the `*`.

    Args:
        part: a function or class.

    Returns:
        A section class.

    Raises:
        SignatureError: when its own is none, or a setting has no type that can be checked.
    """
    own = getattr(part, "Section", None)
    if own is None:
        return _made(part)
    if not (isinstance(own, type) and issubclass(own, Section)):
        raise SignatureError("has a Section that is not derived from radrl.parts.section.Section")
    return own


def defaults(part: Callable[..., Any]) -> dict[str, Any]:
    """Defaults that its own section has and its signature may lack."""
    own = getattr(part, "Section", None)
    fields: Mapping[str, Any] = own.model_fields if own is not None else {}
    return {
        name: field.get_default(call_default_factory=True)
        for name, field in fields.items()
        if not field.is_required()
    }


def _made(part: Callable[..., Any]) -> type[Section]:
    settings = [one for one in _parameters(part).values() if one.kind not in _BY_PLACE]
    if any(one.kind is Parameter.VAR_KEYWORD for one in settings):
        raise SignatureError("takes settings of any name; name them after the *, or give it a Section")
    fields: dict[str, Any] = {
        one.name: (_type(one, part), ... if one.default is Parameter.empty else one.default)
        for one in settings
    }
    name = str(getattr(part, "__name__", "Part"))
    made: type[Section] = create_model(name, __base__=Section, __module__=part.__module__, **fields)
    return made


def _type(setting: Parameter, part: Callable[..., Any]) -> Any:
    """The type of a setting; those of ingredients may be known to type checkers alone."""
    if setting.annotation is Parameter.empty:
        raise SignatureError(f"says no type of its setting {setting.name!r}; annotate it")
    if not isinstance(setting.annotation, str):
        return setting.annotation
    called: Any = inspect.unwrap(part.__init__ if isinstance(part, type) else part)  # type: ignore[misc]
    try:
        return eval(setting.annotation, getattr(called, "__globals__", {}))
    except NameError as error:
        raise SignatureError(
            f"has a setting {setting.name!r} whose type is not there when it is imported ({error}); import "
            "it at the top of the module"
        ) from error


def _parameters(part: Callable[..., Any]) -> Mapping[str, Parameter]:
    try:
        return inspect.signature(part).parameters
    except (TypeError, ValueError) as error:
        raise SignatureError("has no signature that can be read; wrap it in a function") from error
