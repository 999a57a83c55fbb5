"""What is said of a params.yaml that the schema refuses: key, fault and mend."""

from __future__ import annotations

import re
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from radrl.parts.choices import hint

EXPLAINED: Final = "explained"
"""The type of a problem whose message says all there is to say."""

_REPLACED: Final = {
    "device": "`device`, beside `threads`, says it for policies and labelers alike",
    "gradient_accumulation": "batch_size, or prompts_per_step times rollouts, is a step of all processes, "
    "and examples_at_once, or rollouts_at_once, what a process takes through the model together",
}


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
        keys, _ = _walk(root, problem["loc"])
        where = ".".join([prefix, *keys] if prefix else keys)
        lines.append(f"  {where}: {_explain(problem, root)}" if where else f"  {problem['msg']}")
    return "\n".join(lines).replace("Value error, ", "")


def gone(key: str) -> str | None:
    """What is said of a key that params.yaml once had; nothing of another."""
    return f"is no key any more; {_REPLACED[key]}" if key in _REPLACED else None


def _explain(problem: Any, root: type[BaseModel]) -> str:
    if problem["type"] == "extra_forbidden":
        _, section = _walk(root, problem["loc"][:-1])
        valid = list(section.model_fields) if _is_section(section) else []
        key = str(problem["loc"][-1])
        return gone(key) or f"no such key{hint(key, valid)}"
    if problem["type"] == "missing":
        return "is missing"
    if problem["type"] in (
        EXPLAINED,
        "value_error",
    ):  # ours, which says what is wrong; the input may be a whole section
        return str(problem["msg"])
    return f"{problem['msg']} (it is {problem['input']!r}{_as_number(problem['input'])})"


def _as_number(given: Any) -> str:
    """The mend of a number in a form that YAML reads as text, such as 4e-4, which wants a point."""
    if not isinstance(given, str) or not re.fullmatch(r"[+-]?\d+[eE][+-]?\d+", given):
        return ""
    figures, _, power = given.lower().partition("e")
    return f", text to YAML: write {figures}.0e{power if power[0] in '+-' else '+' + power}"


def explained(error: ValidationError, root: type[BaseModel], *, missing: bool = True) -> ValidationError:
    """The same problems, each already in our words: for a section that its parent's fields do not show.

    Args:
        error: what pydantic found.
        root: the section it validated.
        missing: whether keys that are not there are a problem.

    Returns:
        What to raise inside a validator of the parent.
    """
    return ValidationError.from_exception_data(
        error.title,
        [_explained(problem, root) for problem in error.errors() if missing or problem["type"] != "missing"],
    )


def _explained(problem: Any, root: type[BaseModel]) -> InitErrorDetails:
    keys, _ = _walk(root, problem["loc"])
    said = PydanticCustomError(EXPLAINED, "{said}", {"said": _explain(problem, root)})
    return InitErrorDetails(type=said, loc=tuple(keys), input=problem["input"])


def _walk(root: type[BaseModel], loc: tuple[Any, ...]) -> tuple[list[str], Any]:
    """The keys of a place as they stand in the file, and what the schema has there.

    Pydantic puts the tag of a tagged union into the place, which is no key of the file.
    """
    keys: list[str] = []
    current: Any = root
    for key in loc:
        if chosen := [section for section in _sections(current) if key in _tags(section)]:
            current = chosen[0]
            continue
        keys.append(str(key))
        # a section leads on by its field, a dict or list of sections by its value type
        if _is_section(current):
            field = current.model_fields.get(key)
            current = field.annotation if field else None
        else:
            current = next(iter(get_args(current)[-1:]), None)
        sections = _sections(current)
        current = sections[0] if len(sections) == 1 else current
    return keys, current


def _sections(kind: Any) -> list[type[BaseModel]]:
    """The sections that a union offers."""
    if get_origin(kind) not in (Union, UnionType):
        return []
    return [part for part in get_args(kind) if _is_section(part)]


def _tags(section: type[BaseModel]) -> set[Any]:
    """The values that tell a section from the others of its union."""
    kinds = [field.annotation for field in section.model_fields.values()]
    return {get_args(kind)[0] for kind in kinds if get_origin(kind) is Literal and len(get_args(kind)) == 1}


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
