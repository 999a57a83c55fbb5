"""Settings of a part that a caller gives as keyword arguments, checked as params.yaml's are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from radrl.parts.choices import hint
from radrl.parts.find import PATH, Part


def checked(
    part: Part,
    given: Mapping[str, Any],
    *,
    defaults: Mapping[str, Any] | None = None,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Complete and check a part's settings.

    Args:
        part: whose they are.
        given: settings by name; `part` may be among them.
        defaults: of settings that its section has none for.
        without: names of its section that are not the caller's to give.

    Returns:
        All settings, and `part` where it was given.

    Raises:
        radrl.parts.find.PartError: when the part cannot be imported.
        ValueError: naming the setting that there is not, that is missing or that is wrong.
    """
    own = {name: value for name, value in given.items() if name != PATH}
    valid = [name for name in part.section.model_fields if name not in without]
    called = f"{part.kind.name} {part.name}"
    for name in own:
        if name not in valid:
            known = hint(name, valid, "Its settings") if valid else "; it has none"
            raise ValueError(f"{called} has no setting {name!r}{known}")
    try:
        section = part.section.model_validate({**(defaults or {}), **own})
    except ValidationError as error:
        raise ValueError(f"{called}: {'; '.join(map(_said, error.errors()))}") from None
    path = {PATH: given[PATH]} if PATH in given else {}
    return path | section.model_dump()


def _said(problem: Any) -> str:
    where = ".".join(map(str, problem["loc"]))
    if problem["type"] == "missing":
        return f"{where} is missing"
    said = str(problem["msg"]).removeprefix("Value error, ")
    # of a check between settings the input is all of them
    return f"{where} is {problem['input']!r}: {said}" if where else said
