"""What is said of a params.yaml that the schema refuses: key, fault and mend."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError


def render(error: ValidationError, root: type[BaseModel], prefix: str = "") -> str:
    """Every problem on a line of its own, with the key as it stands in the file.

    Args:
        error: what pydantic found.
        root: the section it validated.
        prefix: where that section stands in the file.

    Returns:
        Lines indented by two.
    """
    lines = []
    for problem in error.errors():
        where = ".".join([prefix, *map(str, problem["loc"])] if prefix else map(str, problem["loc"]))
        lines.append(f"  {where}: {_explain(problem, root)}" if where else f"  {problem['msg']}")
    return "\n".join(lines).replace("Value error, ", "")


def _explain(problem: Any, root: type[BaseModel]) -> str:
    if problem["type"] == "extra_forbidden":
        valid = _keys_at(root, problem["loc"][:-1])
        return f"no such key{hint(str(problem['loc'][-1]), valid)}"
    if problem["type"] == "missing":
        return "is missing"
    if problem["type"] == "value_error":  # ours, which says what is wrong; the input may be a whole section
        return str(problem["msg"])
    return f"{problem['msg']} (it is {problem['input']!r})"


def hint(key: str, valid: Iterable[str]) -> str:
    """What to write instead of a key that is none: the nearest one, if any, and all valid ones."""
    valid = list(valid)
    close = difflib.get_close_matches(key, valid, n=1)
    guess = f"; did you mean {close[0]!r}?" if close else "."
    return f"{guess} Valid keys: {', '.join(valid)}"


def _keys_at(model: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    """The keys the schema knows at a place of the file."""
    current: Any = model
    for key in loc:
        # a section leads on by its field, a dict of sections by its value type
        current = current.model_fields[key].annotation if _is_section(current) else get_args(current)[-1]
        if get_origin(current) in (Union, UnionType):
            current = next(part for part in get_args(current) if part is not type(None))
    return list(current.model_fields) if _is_section(current) else []


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
